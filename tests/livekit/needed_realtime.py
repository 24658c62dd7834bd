"""A conversation for the overrides by which a realtime model tells what it hears."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from livekit.agents import function_tool

from runtime.livekit import TurnSession
from runtime.livekit.testing import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

__all__ = ["REALTIME", "nothing_is_said_into_the_user"]

BEGINS, WORDS = 3.5, "hm and one more thing for you to remember"
ENDS = BEGINS + 0.3 * len(WORDS.split())


def nothing_is_said_into_the_user() -> list[str]:
    """A result comes while the model hears the user: it is told when the user has ended."""

    @function_tool
    async def book() -> str:
        """Book a table."""
        await asyncio.sleep(3.0)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0).says(WORDS, at=BEGINS)
    tts = ScriptedTTS()
    rules = {"table": Reply(calls=Call("book")), "hm": "Yes?"}
    answers = ScriptedLLM(rules, {"book": "Your table is booked."})
    session: Any = partial(TurnSession, flow="speech_to_speech")
    outcome = Stage(
        session,
        user=user,
        llm=ScriptedRealtime(user, answers, tts, auto_tool_reply=True),
        tts=tts,
        tools=[book],
        turn_handling={"turn_detection": "realtime_llm"},
    ).run(15)
    begun = [heard.start for heard in outcome.heard]
    return [] if begun and ENDS <= begun[0] < ENDS + 1.5 else [f"heard at {begun}, not at {ENDS}"]


REALTIME = dict.fromkeys(
    (
        "GovernedActivity._on_input_speech_started",
        "GovernedActivity._on_input_speech_stopped",
        "GovernedActivity._on_generation_created",
    ),
    nothing_is_said_into_the_user,
)
"""Each of these overrides, and the conversation that goes wrong without it."""
