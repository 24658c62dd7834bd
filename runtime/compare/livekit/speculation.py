"""S1, S1b, S12: the user speaks while a tool runs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from livekit.agents import function_tool, llm

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

from .checks import wrong_contexts

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


def _s1b(outcome: Outcome) -> list[str]:
    problems = _s1(outcome) + wrong_contexts(outcome)
    answer = outcome.heard_saying(ANSWER)
    if answer is not None and answer.start > COMMITTED + 1.0:
        problems.append(
            f"the user's turn ends at 6.50 s and is answered at {answer.start:.2f} s: "
            f"{answer.start - 6.5:.1f} s of silence"
        )
    if outcome.heard_saying(OWED) is None:
        problems.append("the tool's result is never spoken")
    return problems + [f"at {at:.2f} s an error is logged: {text}" for at, text in outcome.errors]


def _backchannel(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says(FIRST, at=1.0).says("mm", at=5.0, duration=0.3)
    return Stage(session_class, user=user, llm=_weather_model(), tools=[slow_lookup(5.0)])


def _s12(outcome: Outcome) -> list[str]:
    owed, tool = outcome.heard_saying(OWED), outcome.tools[0]
    if owed is None:
        return [f"after a 0.3 s 'mm' at 5.00 s the answer {OWED!r} is never heard"]
    if owed.start > (tool.end or 0.0) + 1.0:
        return [f"the answer comes {owed.start - (tool.end or 0.0):.1f} s after the tool's end"]
    return []


SPECULATION: Conversations = {
    "S1": (partial(_weather, tool_seconds=8.0), _s1),
    "S1b": (partial(_weather, tool_seconds=20.0), _s1b),
    "S12": (_backchannel, _s12),
}
