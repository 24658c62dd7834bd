"""A model that owns its turns reports a call again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from livekit.agents import function_tool

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedDuplex,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

__all__ = ["DUPLEX"]

ASK, BOOKED = "book the table", "Your table is booked."


def _stage(session_class: type[AgentSession[Any]], asks: tuple[float, ...], again: float) -> Stage:
    @function_tool
    async def book() -> str:
        """Book the table."""
        await asyncio.sleep(3.0)
        return "booked"

    user, voice = ScriptedUser(), ScriptedTTS()
    for at in asks:
        user.says(ASK, at=at)
    answers = ScriptedLLM({ASK: Reply(calls=Call("book"))}, {"book": BOOKED})
    model = ScriptedDuplex(user, answers, voice)
    stage = Stage(
        session_class,
        user=user,
        llm=model,
        tts=voice,
        tools=[book],
        turn_handling={"turn_detection": "realtime_llm"},
    )
    return stage.at(again, lambda _: model.repeat())


def _verdict(times: int) -> Callable[[Outcome], list[str]]:
    def verdict(outcome: Outcome) -> list[str]:
        problems = []
        if (ran := len(outcome.tools)) != times:
            problems.append(
                f"`book` ran {ran} times for {times} {'request' if times == 1 else 'requests'}"
            )
        heard_times = sum(heard.text == BOOKED for heard in outcome.heard)
        if heard_times != times:
            problems.append(f"{BOOKED!r} was heard {heard_times} times, not {times}")
        return problems

    return verdict


DUPLEX: Conversations = {
    "C9": (partial(_stage, asks=(1.0,), again=9.0), _verdict(1)),
    "C10": (partial(_stage, asks=(1.0, 9.0), again=15.5), _verdict(2)),
}
