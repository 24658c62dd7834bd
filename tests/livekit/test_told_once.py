"""What a reply tells of a result that is heard, or will be, no other reply is asked to tell."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import RunContext, function_tool

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

FIRST = "I am looking for a table for you."


@pytest.mark.parametrize("typed", [5.0, 6.5], ids=["asked for", "heard"])
def test_a_request_during_a_reply_that_tells_a_result_does_not_ask_for_it(typed: float) -> None:
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
    assert told == [False], outcome.timeline()
    assert sum("booked" in heard.text for heard in outcome.heard) == 1, outcome.timeline()


@pytest.mark.parametrize("typed", [3.0, 6.0], ids=["before it is asked for", "asked for"])
def test_a_request_beside_the_next_step_of_a_calls_own_turn_does_not_ask_for_its_result(
    typed: float,
) -> None:
    """The tool has called `ctx.update()` and returns while the words before the call are heard.
    The next step of the turn, at 5.5 s, tells its result."""

    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book a table."""
        await ctx.update("I am looking")
        await asyncio.sleep(0.1)
        return "booked"

    model = ScriptedLLM(
        {
            "table": Reply(FIRST, calls=Call("book"), ttft=0.1),
            "typed": "Let me see what you have typed.",
        },
        {"book": Reply("It is booked.", ttft=0.8)},
    )
    user = ScriptedUser().says("book a table", at=1.0)
    tts = ScriptedTTS(durations={FIRST: 3.0, "It is booked.": 4.0})
    stage = Stage(TurnSession, user=user, llm=model, tools=[book], tts=tts)
    stage.at(typed, lambda s: s.session.generate_reply(user_input="typed") and None)
    outcome = stage.run(25.0)
    asked = [r for r in outcome.requests if any(e.text == "typed" for e in r.shown)]
    told = [any("heard of the" in entry.text for entry in request.shown) for request in asked]
    assert told[0] is False, outcome.timeline()
