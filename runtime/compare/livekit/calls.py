"""How tool calls end: they hang, raise, return no text, end too late or in parallel."""

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
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

from .checks import contexts_complete, hears, logs_no_error

__all__ = ["CALLS"]

ASK, AGAIN = "book the table", "is the table booked"
CONFIRMED, AFTER = "Yes it is booked.", "Here is what I know."
LIMIT = 8.0


async def _for_ever() -> str:
    await asyncio.get_running_loop().create_future()
    return "never"


async def _six_seconds() -> str:
    await asyncio.sleep(6.0)
    return "booked"


def _raise() -> str:
    raise RuntimeError("no connection")


def _stage(
    session_class: type[AgentSession[Any]], body: Callable[[], Any], user_at: float = 0.0
) -> Stage:
    @function_tool
    async def book() -> Any:
        """Book the table."""
        result = body()
        return await result if asyncio.iscoroutine(result) else result

    user = ScriptedUser().says(ASK, at=1.0)
    if user_at:
        user.says(AGAIN, at=user_at)
    model = ScriptedLLM({AGAIN: CONFIRMED, ASK: Reply(calls=Call("book"))}, {"book": AFTER})
    timers = {"tool_limit": LIMIT, "drain_limit": LIMIT}
    return Stage(session_class, user=user, llm=model, tools=[book], timers=timers)


def _ends(outcome: Outcome) -> list[str]:
    """Calls with several ends, and results that are not in the context exactly once."""
    ends: dict[str, int] = {}
    for event in outcome.events:
        if event.lane == "tool" and event.what.startswith("call_") and " update" not in event.what:
            call = event.what.split(" ")[0]
            ends[call] = ends.get(call, 0) + 1
    return [f"{call} ends {n} times" for call, n in ends.items() if n > 1]


def _verdict_hangs(outcome: Outcome) -> list[str]:
    problems = hears(outcome, CONFIRMED, 16.0, 15.2, "the user's words end")
    if outcome.state_at(13.9) == "thinking":
        problems.append(f"a tool hangs, and {LIMIT:g} s after its limit the agent still 'thinks'")
    if outcome.closed_in > 30.0:
        problems.append("the session cannot be closed: it waits for the tool")
    return problems


def _verdict_ended(outcome: Outcome) -> list[str]:
    problems = hears(outcome, AFTER, 3.5, 2.4, "the question is committed") + contexts_complete(
        outcome
    )
    outputs = [line for line in outcome.context if line.startswith("output")]
    if len(outputs) != 1:
        problems.append(f"the conversation holds {outputs} as the call's output")
    return problems + _ends(outcome)


def _cancelled_before(session_class: type[AgentSession[Any]]) -> Stage:
    stage = _stage(session_class, _six_seconds)

    def interrupt(stage: Stage) -> None:
        stage.session.interrupt()
        stage.session.generate_reply(user_input=AGAIN)

    def watch(ev: Any) -> None:
        if ev.update.type == "tool_call_started":
            asyncio.get_running_loop().call_later(0.01, interrupt, stage)

    def listen(stage: Stage) -> None:
        stage.session.on("tool_execution_updated", watch)

    return stage.at(0.0, listen)


def _verdict_cancelled_before(outcome: Outcome) -> list[str]:
    return (
        contexts_complete(outcome)
        + _ends(outcome)
        + hears(outcome, CONFIRMED, 4.0, 2.4, "the interruption")
    )


def _ends_after_close(session_class: type[AgentSession[Any]]) -> Stage:
    async def close(stage: Stage) -> None:
        begun = stage.now
        await stage.session.aclose()
        stage.note(f"closed after {stage.now - begun:.1f} s")

    stage = _stage(session_class, _six_seconds, user_at=4.0)
    return stage.at(6.5, close)


def _verdict_after_close(outcome: Outcome) -> list[str]:
    problems = logs_no_error(outcome) + _ends(outcome)
    calls = [item for item in outcome.history.items if item.type == "function_call"]
    outputs = [item for item in outcome.history.items if item.type == "function_call_output"]
    if len(calls) != len(outputs):
        problems.append(f"the history ends with {len(calls)} call(s), {len(outputs)} output(s)")
    return problems


CALLS: Conversations = {
    "D1": (partial(_stage, body=_for_ever, user_at=14.0), _verdict_hangs),
    "D2": (partial(_stage, body=_raise), _verdict_ended),
    "D3": (partial(_stage, body=object), _verdict_ended),
    "D4": (_cancelled_before, _verdict_cancelled_before),
    "D5": (_ends_after_close, _verdict_after_close),
}
