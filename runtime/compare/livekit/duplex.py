"""A model that owns its turns reports a call again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit.agents import function_tool

from turnfsm.runtime.compare.scenario import Scenario
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
DELEGATION = "https://github.com/TheSmokeDev/hermes-talk/pull/135"
RETRY = "https://github.com/mindroom-ai/mindroom/pull/2004"


def _stage(session_class: type[AgentSession[Any]], user: ScriptedUser, *again: float) -> Stage:
    @function_tool
    async def book() -> str:
        """Book the table."""
        await asyncio.sleep(3.0)
        return "booked"

    voice = ScriptedTTS()
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
    for at in again:
        stage.at(at, lambda _: model.repeat())
    return stage


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


DUPLEX: tuple[Scenario, ...] = (
    Scenario(
        "C9",
        "a model that owns its turns reports a call again when it has ended",
        16.0,
        lambda session: _stage(session, ScriptedUser().says(ASK, at=1.0), 9.0),
        _verdict(1),
        (DELEGATION,),
        "C",
        wrong="The caller has asked for one table and gets two.",
    ),
    Scenario(
        "C10",
        "the user asks for the same twice, and the model reports the second call again",
        26.0,
        lambda session: _stage(session, ScriptedUser().says(ASK, at=1.0).says(ASK, at=9.0), 15.5),
        _verdict(2),
        (RETRY,),
        "C",
        wrong="The caller has asked for two tables and gets three.",
    ),
)
