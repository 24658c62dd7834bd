"""What the user is just hearing of a result is not told again."""

from __future__ import annotations

import asyncio

import pytest
from livekit.agents import function_tool

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

ANSWER = "Yes we have wine. And your table is booked for tonight."


@pytest.mark.parametrize(("typed", "again"), [(5.0, True), (6.5, False)])
def test_a_request_during_a_reply_that_tells_a_result_does_not_ask_for_it(
    typed: float, again: bool
) -> None:
    """The user speaks before the reply to the result is heard. Their own answer tells it: asked for
    at 4.4 s, heard from 5.8 s on."""

    @function_tool
    async def book() -> str:
        """Book a table."""
        await asyncio.sleep(1.0)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0)
    user.says("do you have wine", at=3.4, duration=0.9, stt_delay=0.1)
    model = ScriptedLLM(
        {
            "table": Reply(calls=Call("book")),
            "wine": Reply(ANSWER, ttft=1.2),
            "typed": "Let me see what you have typed.",
        },
        {"book": Reply("It is booked.", ttft=0.8)},
    )
    stage = Stage(
        TurnSession, user=user, llm=model, tools=[book], tts=ScriptedTTS(durations={ANSWER: 6.0})
    )
    stage.at(typed, lambda s: s.session.generate_reply(user_input="typed") and None)
    outcome = stage.run(25.0)
    asked = [r for r in outcome.requests if any(e.text == "typed" for e in r.shown)]
    told = [any("heard of the" in entry.text for entry in request.shown) for request in asked]
    assert told == [again], outcome.timeline()
