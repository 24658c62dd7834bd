"""Conversations for the overrides by which a realtime model is heard, asked and told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from livekit.agents import RunContext, function_tool

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


def _booking(book: Any, *, preamble: str = "") -> Stage:
    user = ScriptedUser().says("book a table", at=1.0)
    tts = ScriptedTTS()
    rules = {"table": Reply(preamble, calls=Call("book")), "else": "What else?"}
    model = ScriptedLLM(rules, {"book": "Your table is booked."})
    voiced = ScriptedRealtime(user, model, tts)
    return Stage(
        TurnSession,
        user=user,
        llm=voiced,
        tts=tts,
        tools=[book],
        turn_handling={"turn_detection": "realtime_llm"},
    )


def a_call_that_was_interrupted_owes_nothing() -> list[str]:
    """A tool that cleans up after the interruption of its wait has nothing to tell."""

    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book a table."""
        try:
            await context.wait_for_playout()
        finally:
            await asyncio.sleep(0.5)
        return "booked"

    def interrupt(stage: Stage) -> None:
        stage.session.interrupt()
        stage.session.generate_reply(user_input="something else")

    stage = _booking(book, preamble="I am booking your table for tonight, one moment.")
    said = [heard.text for heard in stage.at(3.5, interrupt).run(15).heard[1:]]
    return [] if said == ["What else?"] else [f"after the interruption is heard {said}"]


REALTIME: dict[str, Callable[[], list[str]]] = dict.fromkeys(
    (
        "RealtimeActivity._on_input_speech_started",
        "RealtimeActivity._on_input_speech_stopped",
        "RealtimeActivity._on_generation_created",
    ),
    nothing_is_said_into_the_user,
) | {
    "GovernedExecutor._enqueue_reply": a_call_that_was_interrupted_owes_nothing,
}
"""Each of these overrides, and the conversation that goes wrong without it."""
