"""The agents and inline tasks of the scenarios, and their runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import Any

from livekit.agents import Agent, AgentTask, RunContext, function_tool, llm
from livekit.agents.beta.workflows import TaskGroup
from livekit.agents.voice.run_result import RunResult

from turnfsm.runtime.testing.livekit import Outcome, Stage
from turnfsm.runtime.testing.livekit.tasks import complete

__all__ = ["agent_of", "asked", "held", "run", "waits"]


async def waits(seconds: float) -> None:
    """Wait so many seconds; infinite: for ever."""
    if seconds == inf:
        await asyncio.get_running_loop().create_future()
    await asyncio.sleep(seconds)


def agent_of(given: Mapping[str, Any]) -> Agent:
    """An agent.

    Args:
        given: The `name` of its class; seconds that a turn of the user takes in
            `on_user_turn_completed` (`completes`) and that it needs to `enter`; the inline tasks
            that it then begins as a `group`, by name; what it finally `says`.
    """
    agent: Agent = type(given.get("name", "_Agent"), (_Agent,), {})(given)
    return agent


class _Agent(Agent):
    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(instructions="Greet.")
        self._given = given

    async def on_enter(self) -> None:
        await waits(self._given.get("enters", 0.0))
        if "group" in self._given:
            group = TaskGroup(summarize_chat_ctx=False)
            for name, of in self._given["group"].items():
                group.add(partial(_task, name, **of), id=name, description=name)
            await group
        if "says" in self._given:
            self.session.say(self._given["says"])

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        await asyncio.sleep(self._given.get("completes", 0.0))


class _Asks(AgentTask[Any]):
    """Asks its question when it is entered, and ends after some seconds, or with its tool."""

    def __init__(self, question: str, ends: float | None = None, tools: Any = ()) -> None:
        super().__init__(instructions="Ask one thing.", tools=list(tools))
        self._question, self._ends = question, ends

    async def on_enter(self) -> Any:
        self.session.say(self._question)
        if self._ends is None:
            return None
        await asyncio.sleep(self._ends)
        return complete(self, None)


def _task(name: str, *, question: str, tool: str, result: str) -> AgentTask[Any]:
    async def ends(context: RunContext[Any], raw_arguments: dict[str, object]) -> Any:
        return complete(task, result)

    schema = {"name": tool, "description": tool, "parameters": {"type": "object", "properties": {}}}
    task: AgentTask[Any] = type(name, (_Asks,), {})(
        question, tools=[function_tool(ends, raw_schema=schema)]
    )
    return task


async def asked(question: str, seconds: float) -> None:
    """Ask in an inline task, which ends after some seconds."""
    await _Asks(question, seconds)


async def run(stage: Stage, words: str) -> None:
    """One `session.run()`; notes what it held, or how it failed."""
    begun = stage.now
    try:
        result: RunResult[Any] = await stage.session.run(user_input=words)
    except RuntimeError as error:
        stage.note(f"{words}: raises {error}")
        return
    for line in _lines(result):
        stage.note(f"{words}: {line}")
    stage.note(f"{words}: ends after {stage.now - begun:.2f} s")


def _lines(result: RunResult[Any]) -> Iterator[str]:
    for event in result.events:
        if event.type == "message":
            yield f"{event.item.role}: {event.item.text_content or ''}"
        elif event.type == "agent_handoff":
            yield f"{type(event.old_agent).__name__} -> {type(event.new_agent).__name__}"
        else:
            yield f"{event.type} {event.item.name}"


def held(outcome: Outcome, words: str) -> list[str]:
    """What the run with these words held."""
    return [what.removeprefix(f"{words}: ") for _, what in outcome.notes if what.startswith(words)]
