"""An application as a user types it; `test_typing` runs mypy --strict over it.

A line that must not pass carries the error that it must get: mypy reports a "type: ignore" that is
not needed.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, assert_type

from livekit.agents import Agent, AgentSession, function_tool
from livekit.agents.voice.run_result import RunResult

from turnfsm import Verdict
from turnfsm.livekit import TurnContext, TurnSession


@dataclass
class Caller:
    name: str


@function_tool
async def greet(context: TurnContext[Caller]) -> str:
    """Greet the caller."""
    await context.commit_point()
    assert_type(context.userdata, Caller)
    return context.userdata.name


def heard(verdict: Verdict) -> None: ...


def takes_stock(session: AgentSession[Caller]) -> None: ...


async def main() -> None:
    agent = Agent(instructions="Help.", tools=[greet])
    session = TurnSession(
        userdata=Caller("Ada"),
        vad=None,
        timers={"settle": 1.0},
        turn_handling={"interruption": {"min_words": 2}},
    )
    assert_type(session, TurnSession[Caller])
    assert_type(session.userdata, Caller)
    takes_stock(session)
    without_data: TurnSession[None] = TurnSession(max_tool_steps=2)
    takes_stock(without_data)  # type: ignore[arg-type]

    session.on("turn_verdict", heard)
    session.once("turn_verdict", heard)
    session.off("turn_verdict", heard)
    session.on("agent_state_changed", print)
    session.on("turn_verdikt", heard)  # type: ignore[arg-type]

    assert_type(await session.start(agent, capture_run=True), RunResult[Any])
    await assert_type(session.start(agent), Coroutine[Any, Any, None])
    print(session.start(agent, capture=True))  # type: ignore[call-overload]
    assert_type(session.run(user_input="hello", output_type=int), RunResult[int])

    TurnSession(userdata=1, lmm=None)  # type: ignore[call-arg]
    TurnSession(userdata=1, user_away_timeout="15")  # type: ignore[arg-type]
    TurnSession(userdata=1, timers={"settle": "1"})  # type: ignore[dict-item]
    TurnSession("turn")  # type: ignore[call-arg]
