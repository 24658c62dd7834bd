"""S1, S1b, S12: the user speaks while a tool runs."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import AgentSession, function_tool, llm

from runtime.livekit.testing import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

from .scenario import Scenario

__all__ = ["SPECULATION"]

FIRST, SECOND = "what is the weather in Rome", "and what about Paris please"
COMMITTED = 7.0  # the second turn ends at 6.5 s, and an end of turn takes 0.5 s of silence
OWED, ANSWER = "It rains in Rome.", "Paris is sunny."


def slow_lookup(seconds: float) -> llm.FunctionTool[..., Any]:
    """A silent tool that takes its time."""

    @function_tool
    async def look_up(city: str) -> str:
        """Look up the weather.

        Args:
            city: where
        """
        await asyncio.sleep(seconds)
        return f"rain in {city}"

    return look_up


def _weather_model() -> ScriptedLLM:
    return ScriptedLLM(
        {"Rome": Reply(calls=Call("look_up", {"city": "Rome"})), "Paris": ANSWER},
        {"look_up": OWED},
    )


def _weather(session_class: type[AgentSession[Any]], tool_seconds: float) -> Stage:
    user = ScriptedUser().says(FIRST, at=1.0).says(SECOND, at=5.0)
    return Stage(session_class, user=user, llm=_weather_model(), tools=[slow_lookup(tool_seconds)])


def _speculation(outcome: Outcome) -> list[str]:
    """Requests for the second turn made before it can have been committed, while a tool ran."""
    return [
        f"the model is asked about {SECOND!r} at {request.at:.2f} s, before that turn is "
        f"committed, while {tool.name} runs"
        for request in outcome.requests
        for tool in outcome.tools
        if SECOND in request.prompt
        and request.at < COMMITTED
        and tool.start < request.at < (tool.end or float("inf"))
    ]


def _s1(outcome: Outcome) -> list[str]:
    problems = _speculation(outcome)
    asked = sum(SECOND in request.prompt for request in outcome.requests)
    if asked > 1:
        problems.append(f"the model is asked {asked} times about {SECOND!r}")
    if outcome.heard_saying(ANSWER) is None:
        problems.append(f"{ANSWER!r} is never heard")
    return problems


S1 = Scenario(
    "S1",
    "the user speaks while a silent 8 s tool runs",
    25.0,
    lambda session_class: _weather(session_class, 8.0),
    _s1,
    ("https://github.com/livekit/agents-js/issues/1365",),
)

SPECULATION = (S1,)
