"""Which words of the user a realtime model is shown last, and so answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import RunContext, function_tool

from turnfsm.runtime.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)


def _stage(user: ScriptedUser, answers: ScriptedLLM, tools: list[Any], detection: str) -> Stage:
    voice = ScriptedTTS()
    model = ScriptedRealtime(user, answers, voice, turn_detection=False)
    turns = {"turn_detection": detection}
    return Stage(TurnSession, user=user, llm=model, tts=voice, tools=tools, turn_handling=turns)


@pytest.mark.parametrize("says_at", [1.2, 1.6, 1.85, 2.0, 2.1])
def test_words_are_answered_though_something_is_said_before_their_answer(says_at: float) -> None:
    """The application says something while the user speaks; it is heard after the user's words are
    committed. The model answers what comes last in its conversation."""
    user = ScriptedUser().says("is it open", at=1.0, duration=0.8)
    answers = ScriptedLLM({"is it open": "It is open until eight."})
    stage = _stage(user, answers, [], "manual")
    stage.at(says_at, lambda s: s.session.say("One moment please."))
    stage.at(1.9, lambda s: s.session.commit_user_turn(transcript_timeout=0.5))
    outcome = stage.run(12.0)
    assert outcome.heard_saying("It is open until eight.") is not None, outcome.timeline()
    assert [request.shown[-1].text for request in outcome.requests] == ["is it open"]


@pytest.mark.parametrize("delay", [0.3, 1.5])
def test_words_whose_transcript_comes_after_their_answer_are_not_answered_again(
    delay: float,
) -> None:
    """A call of the turn before ends then, and the model is asked to tell its result. What the
    model has stays in its order, whatever the order in the agent's conversation."""

    @on_interruption("finish")
    @function_tool
    async def search(context: RunContext[Any]) -> str:
        """Search."""
        await context.update("searching")
        await asyncio.sleep(6.0)
        return "found"

    @function_tool
    async def note() -> str:
        """Note."""
        return "noted"

    user = ScriptedUser()
    user.says("find it", at=1.0, stt_delay=0.3).says("note it", at=2.8, stt_delay=delay)
    answers = ScriptedLLM(
        {
            "find it": Reply("I am looking for it now.", Call("search")),
            "note it": Reply("I note it.", Call("note")),
        },
        {"search": "I have it.", "note": "It is noted, and I will think of it tomorrow morning."},
        otherwise=Reply("Here is what I found."),
    )
    stage = _stage(user, answers, [search, note], "manual")
    stage.at(2.0, lambda s: s.session.commit_user_turn())
    stage.at(3.7, lambda s: s.session.commit_user_turn())
    outcome = stage.run(20.0)
    shown = next(r.shown for r in outcome.requests if any(e.text == "found" for e in r.shown))
    texts = [entry.text for entry in shown if entry.kind != "system"]
    assert texts[-1] == "found"
    assert texts.index("note it") < texts.index("I note it.")
