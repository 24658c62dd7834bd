"""The user corrects what a running tool is about to do."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import RunContext, function_tool

from turnfsm.runtime.compare.flows import CORRECTS
from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.overrides.tool_context import TurnContext
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

from .checks import contexts_complete

__all__ = ["CORRECTIONS"]

ASK, CORRECT = "a table for Kim on tuesday", "no on thursday"
EFFECT = "side effect: a table is booked for "


def _booking(day: str) -> Reply:
    return Reply(calls=Call("book", {"guest": "Kim", "day": day}))


def _tells(asked: Request) -> Reply:
    results = [entry.text for entry in asked.shown if entry.kind == "result"]
    return Reply(f"It is {results[-1]}." if results else "I see.")


def _stage(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def book(context: RunContext[Any], guest: str, day: str) -> str:
        """Book a table."""
        await asyncio.sleep(5.0)
        if isinstance(context, TurnContext):
            await context.commit_point()
        stage.note(EFFECT + day)
        return f"booked for {day}"

    user = ScriptedUser().says(ASK, at=1.0).says(CORRECT, at=4.0)
    model = ScriptedLLM(
        {ASK: _booking("Tuesday"), CORRECT: _booking("Thursday")},
        on_tool={"book": _tells},
        otherwise=_tells,
    )
    stage = Stage(session_class, user=user, llm=model, tools=[book], flow=CORRECTS)
    return stage


def _verdict(outcome: Outcome) -> list[str]:
    booked = [
        (event.at, event.what.removeprefix(EFFECT))
        for event in outcome.events
        if event.what.startswith(EFFECT)
    ]
    problems = contexts_complete(outcome)
    if len(booked) != 1:
        when = ", ".join(f"{day} at {at:.2f} s" for at, day in booked)
        problems.append(f"book has its effect {len(booked)} times: {when}")
    confirmations = [heard.text for heard in outcome.heard if "booked for" in heard.text]
    if confirmations != ["It is booked for Thursday."]:
        problems.append(f"the caller hears {', '.join(map(repr, confirmations)) or 'no result'}")
    return problems


CORRECTIONS: Conversations = {
    "D7": (_stage, _verdict),
}
