"""S4: `session.run()` while a chain of agents starts, and with several handoffs in a row."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from livekit.agents import Agent, AgentTask, function_tool
from livekit.agents.beta.workflows import TaskGroup
from livekit.agents.voice.run_result import RunResult

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, Stage
from turnfsm.runtime.testing.livekit.tasks import complete

__all__ = ["HANDOFFS", "Asks", "held", "say"]

CASCADE = ("_Name -> TaskGroup", "TaskGroup -> _Email")
LAST_HOP = ("_Email -> TaskGroup", "TaskGroup -> _Front", "assistant: All done, bye.")


class Asks(AgentTask[str]):
    """Asks its question when it is entered."""

    question = ""

    def __init__(self) -> None:
        super().__init__(instructions="Ask one thing.")

    async def on_enter(self) -> None:
        self.session.say(self.question)


class _Name(Asks):
    question = "What is your name?"

    @function_tool
    async def record_name(self) -> Any:
        """Record the name."""
        return complete(self, "Bob")


class _Email(Asks):
    question = "What is your address?"

    @function_tool
    async def record_email(self) -> Any:
        """Record the address."""
        return complete(self, "b@x.y")


class _Front(Agent):
    def __init__(self, settles_after: float) -> None:
        super().__init__(instructions="Greet.")
        self._settles_after = settles_after

    async def on_enter(self) -> None:
        await asyncio.sleep(self._settles_after)
        group = TaskGroup(summarize_chat_ctx=False)
        group.add(_Name, id="name", description="the name")
        group.add(_Email, id="email", description="the address")
        await group
        self.session.say("All done, bye.")


def _lines(result: RunResult[Any]) -> list[str]:
    out = []
    for event in result.events:
        if event.type == "message":
            out.append(f"{event.item.role}: {event.item.text_content or ''}")
        elif event.type == "agent_handoff":
            out.append(f"{type(event.old_agent).__name__} -> {type(event.new_agent).__name__}")
        else:
            out.append(f"{event.type} {event.item.name}")
    return out


async def say(stage: Stage, words: str) -> None:
    """One run; notes what it held, or how it failed."""
    begun = stage.now
    try:
        result: RunResult[Any] = await stage.session.run(user_input=words)
    except RuntimeError as error:
        stage.note(f"{words}: raises {error}")
        return
    for line in _lines(result):
        stage.note(f"{words}: {line}")
    stage.note(f"{words}: ends after {stage.now - begun:.2f} s")


def _stage(
    session_class: type[AgentSession[Any]], *, settles_after: float, first: float, second: float
) -> Stage:
    model = ScriptedLLM(
        {
            "Bob": Reply(calls=Call("record_name")),
            "b@x.y": Reply(calls=Call("record_email")),
        }
    )
    stage = Stage(session_class, llm=model, agent=lambda: _Front(settles_after))
    stage.at(first, lambda stage: say(stage, "I am Bob"))
    return stage.at(second, lambda stage: say(stage, "b@x.y"))


def held(outcome: Outcome, words: str) -> list[str]:
    return [what.removeprefix(f"{words}: ") for _, what in outcome.notes if what.startswith(words)]


def _verdict_first(outcome: Outcome) -> list[str]:
    inside = held(outcome, "I am Bob")
    problems = [f"`run('I am Bob')` {line}" for line in inside if line.startswith("raises")]
    missing = [hop for hop in CASCADE if hop not in inside]
    if missing and not problems:
        problems.append(f"`run('I am Bob')` holds {inside}, not {missing}")
    if any("What is your name?" in line for line in inside):
        problems.append("the first run holds what was said before it")
    return problems


def _verdict_cascade(outcome: Outcome) -> list[str]:
    inside = held(outcome, "b@x.y")
    missing = [line for line in LAST_HOP if line not in inside]
    problems = _verdict_first(outcome)
    if missing:
        problems.append(f"`run('b@x.y')` ends without {missing}; it holds {inside}")
    return problems


HANDOFFS: Conversations = {
    "S4": (partial(_stage, settles_after=0.0, first=0.0, second=10.0), _verdict_first),
    "S4b": (partial(_stage, settles_after=0.5, first=0.0, second=10.0), _verdict_first),
    "S4c": (partial(_stage, settles_after=0.0, first=3.0, second=10.0), _verdict_cascade),
}
