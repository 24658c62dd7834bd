"""A booking that the caller hears of before it is made, and a caller who speaks at any moment.

An objection prevents the booking; an acknowledgement or a noise does not. Code written for LiveKit
books in every case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from livekit.agents import Agent, AgentSession, RunContext, function_tool

from turnfsm.livekit import TurnContext, TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

pytestmark = pytest.mark.exhaustive

PREAMBLE = "I am booking a table for two at eight"
BEGUN, TAKES = 2.1, 3.4
"""Seconds: when the preamble is first heard, and how long it takes."""

EFFECT_AFTER = 2.0
"""Seconds until the tool with a commit point asks whether it may book."""

How = Literal["wait", "commit point"]
SAID = {"objection": "no wait not tonight", "acknowledgement": "yes thank you", "noise": ""}


class Waiter(Agent):
    """Has two tools that book."""

    def __init__(self) -> None:
        super().__init__(instructions="Book tables.")
        self.bookings = 0

    @function_tool
    async def book_after_playout(self, ctx: RunContext[Any]) -> str:
        """Book when the caller has heard of it."""
        await ctx.wait_for_playout()
        self.bookings += 1
        return "booked"

    @function_tool
    async def book_at_commit_point(self, ctx: TurnContext[Any]) -> str:
        """Look for a table, then book it."""
        await asyncio.sleep(EFFECT_AFTER)
        await ctx.commit_point()
        self.bookings += 1
        return "booked"


TOOLS: dict[How, str] = {"wait": "book_after_playout", "commit point": "book_at_commit_point"}


def _moments(how: How) -> Iterator[float]:
    """85 moments before the effect, from the first word of the preamble on."""
    until = BEGUN + TAKES if how == "wait" else BEGUN - 0.1 + EFFECT_AFTER
    for n in range(85):
        yield BEGUN + n * (until - 0.15 - BEGUN) / 84


def _bookings(session: Any, how: How, words: str, at: float) -> int:
    waiter = Waiter()
    user = ScriptedUser().says("a table", at=0.8)
    user = user.says(words, at=at) if words else user.makes_noise(at=at, duration=0.7)
    model = ScriptedLLM(
        {"a table": Reply(PREAMBLE, calls=Call(TOOLS[how]))},
        dict.fromkeys(TOOLS.values(), "Your table is booked."),
    )
    tts = ScriptedTTS(durations={PREAMBLE: TAKES})
    stage = Stage(session, user=user, llm=model, tts=tts, agent=lambda: waiter)
    outcome = stage.run(9.5)
    assert not outcome.errors
    return waiter.bookings


@pytest.mark.parametrize("how", TOOLS)
@pytest.mark.parametrize("said", SAID)
def test_an_objection_prevents_the_booking_and_nothing_else_does(how: How, said: str) -> None:
    """At each of 85 moments."""
    made = [_bookings(TurnSession, how, SAID[said], at) for at in _moments(how)]
    assert made == [0 if said == "objection" else 1] * 85


@pytest.mark.parametrize("said", SAID)
def test_on_agent_session_the_wait_prevents_nothing(said: str) -> None:
    """It returns as if the preamble had been heard; every fourth moment of the 85."""
    moments = [*_moments("wait")][::4]
    made = [_bookings(AgentSession, "wait", SAID[said], at) for at in moments]
    assert made == [1] * 22
