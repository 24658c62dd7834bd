"""What the user says while the agent cannot be interrupted is heard, kept and answered."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from both import hearing_session
from scripted_tool import tool

from turnfsm.livekit import TurnSession
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


def _users(outcome: Outcome) -> list[str]:
    return [line for line in outcome.context if line.startswith("user")]


def _notice(make: Any, **options: Any) -> Outcome:
    """The user speaks into an announcement of 5 s that cannot be interrupted."""
    stage = Stage(
        make,
        user=ScriptedUser().says("what about tomorrow", at=2.0),
        llm=ScriptedLLM({"tomorrow": "Tomorrow it rains."}),
        tts=ScriptedTTS(durations={NOTICE: 5.0}),
        **options,
    )
    return stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None).run(
        12.0
    )


def _deprecated(**given: Any) -> TurnSession[Any]:
    """A session whose application uses LiveKit's deprecated arguments."""
    del given["turn_handling"]  # LiveKit would not look at the others
    return TurnSession(**given | TYPED, discard_audio_if_uninterruptible=False)


HEARD: dict[str, Any] = {"interruption": {"discard_audio_if_uninterruptible": False}}
DISCARDED: dict[str, Any] = {"interruption": {"discard_audio_if_uninterruptible": True}}


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (hearing_session, {}),
        (partial(TurnSession, flow="uninterruptible"), {}),
        (TurnSession, {"turn_handling": HEARD}),
        (_deprecated, {}),
    ],
    ids=["a line of the flow", "a shipped flow", "turn_handling", "deprecated arguments"],
)
def test_words_into_an_announcement_are_kept_if_the_application_wants_them(
    make: Any, options: dict[str, Any]
) -> None:
    outcome = _notice(make, **options)
    assert _users(outcome) == ["user: what about tomorrow"]
    assert outcome.heard_saying("Tomorrow it rains.") is not None


@pytest.mark.parametrize(
    ("make", "options"),
    [(TurnSession, {}), (hearing_session, {"turn_handling": DISCARDED})],
    ids=["by default", "the application before the flow"],
)
def test_otherwise_the_stt_gets_silence(make: Any, options: dict[str, Any]) -> None:
    """As with `AgentSession`, and without a warning."""
    outcome = _notice(make, **options)
    assert _users(outcome) == []
    assert outcome.warnings == []


def test_words_that_were_kept_are_answered_with_those_that_come_meanwhile() -> None:
    """The user goes on as the announcement ends: one request, one reply."""
    user = ScriptedUser().says("what about tomorrow", at=2.0)
    user.says("and on Sunday", at=5.0, duration=0.9, stt_delay=0.3)
    model = ScriptedLLM({"Sunday": "It rains and then it does not.", "tomorrow": "It rains."})
    stage = Stage(hearing_session, user=user, llm=model, tts=ScriptedTTS(durations={NOTICE: 5.0}))
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    outcome = stage.run(15.0)
    assert _users(outcome) == ["user: what about tomorrow and on Sunday"], outcome.timeline()
    assert outcome.heard_saying("It rains.") is None
    assert outcome.heard_saying("It rains and then it does not.") is not None


@pytest.mark.one_in(3)
@pytest.mark.parametrize("model_detects_turns", [False, True], ids=["pipeline", "server"])
@pytest.mark.parametrize("policy", ["hold", "finish"])
@pytest.mark.parametrize("at", [2.0, 4.5], ids=["preamble", "work"])
def test_words_into_a_call_that_holds_its_turn_are_kept(
    policy: Any, model_detects_turns: bool, at: float
) -> None:
    """Only the call keeps its turn from being interrupted, preamble included: the user is heard."""
    transfer = tool("transfer", "done", seconds=5.0, policy=policy)
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
