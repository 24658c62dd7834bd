"""What the user says while the agent cannot be interrupted is heard, kept and answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import function_tool

from turnfsm.livekit import on_interruption
from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

PREAMBLE = "I am going to transfer it for you at once."
NOTICE = "This call is recorded for quality and for training purposes."
TYPED = {"turn_detection": "vad", "min_endpointing_delay": 0.5}
OPTION = "discard_audio_if_uninterruptible"


def _users(outcome: Outcome) -> list[str]:
    return [line for line in outcome.context if line.startswith("user")]


def _notice(turn_handling: Any = None, deprecated: dict[str, Any] | None = None) -> Outcome:
    """The user speaks into an announcement of 5 s that cannot be interrupted."""

    def make(**given: Any) -> TurnSession[Any]:
        if deprecated is not None:
            given = {**given, **TYPED, **deprecated}
            del given["turn_handling"]
        return TurnSession(**given)

    stage = Stage(
        make,  # type: ignore[arg-type]
        user=ScriptedUser().says("what about tomorrow", at=2.0),
        llm=ScriptedLLM({"tomorrow": "Tomorrow it rains."}),
        tts=ScriptedTTS(durations={NOTICE: 5.0}),
        turn_handling=turn_handling,
    )
    return stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None).run(
        12.0
    )


@pytest.mark.parametrize("deprecated", [None, {}], ids=["turn_handling", "deprecated arguments"])
def test_words_into_an_announcement_are_kept_by_default(deprecated: dict[str, Any] | None) -> None:
    """LiveKit's default gives the STT silence."""
    outcome = _notice(deprecated=deprecated)
    assert _users(outcome) == ["user: what about tomorrow"]
    assert outcome.heard_saying("Tomorrow it rains.") is not None
    assert [text for _, text in outcome.warnings if OPTION in text] == []


@pytest.mark.parametrize(
    "given",
    [
        {"turn_handling": {"interruption": {OPTION: True}}},
        {"deprecated": {OPTION: True}},
    ],
    ids=["turn_handling", "deprecated arguments"],
)
def test_an_application_that_wants_them_discarded_is_warned(given: dict[str, Any]) -> None:
    """It asked for it by name, and is told what it costs."""
    outcome = _notice(**given)
    assert _users(outcome) == []
    assert [text for _, text in outcome.warnings if OPTION in text]


def test_words_that_were_kept_are_answered_with_those_that_come_meanwhile() -> None:
    """The user goes on as the announcement ends: one request, one reply."""
    user = ScriptedUser().says("what about tomorrow", at=2.0)
    user.says("and on Sunday", at=5.0, duration=0.9, stt_delay=0.3)
    model = ScriptedLLM({"Sunday": "It rains and then it does not.", "tomorrow": "It rains."})
    stage = Stage(TurnSession, user=user, llm=model, tts=ScriptedTTS(durations={NOTICE: 5.0}))
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    outcome = stage.run(15.0)
    assert _users(outcome) == ["user: what about tomorrow and on Sunday"], outcome.timeline()
    assert outcome.heard_saying("It rains.") is None
    assert outcome.heard_saying("It rains and then it does not.") is not None


@pytest.mark.parametrize("model_detects_turns", [False, True], ids=["pipeline", "server"])
@pytest.mark.parametrize("policy", ["hold", "finish"])
@pytest.mark.parametrize("at", [2.0, 4.5], ids=["preamble", "work"])
def test_words_into_a_call_that_holds_its_turn_are_kept(
    policy: Any, model_detects_turns: bool, at: float
) -> None:
    """The speech is not interruptible while such a call runs, its preamble included."""

    @on_interruption(policy)
    @function_tool
    async def transfer() -> str:
        """Transfer money."""
        await asyncio.sleep(5.0)
        return "done"

    model = ScriptedLLM(
        {
            "transfer": Reply(PREAMBLE, calls=Call("transfer")),
            "tomorrow": "Tomorrow it rains.",
        },
        {"transfer": "It is done."},
    )
    user = ScriptedUser().says("transfer it", at=0.5).says("what about tomorrow", at=at)
    tts = ScriptedTTS(durations={PREAMBLE: 3.0})
    stage = Stage(
        TurnSession,
        user=user,
        llm=ScriptedRealtime(user, model, tts) if model_detects_turns else model,
        tts=tts,
        tools=[transfer],
        turn_handling={"turn_detection": "realtime_llm"} if model_detects_turns else None,
    )
    outcome = stage.run(16.0)
    assert _users(outcome) == ["user: transfer it", "user: what about tomorrow"]
    assert outcome.heard_saying("Tomorrow it rains.") is not None, outcome.timeline()
    assert outcome.errors == []
