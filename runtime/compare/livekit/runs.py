"""`session.run()`: a cascade of three tasks, entering that never ends, nesting, closing."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import Agent, function_tool
from livekit.agents.beta.workflows import TaskGroup

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, Stage
from turnfsm.runtime.testing.livekit.tasks import complete

from .handoffs import Asks, held, say

__all__ = ["RUNS"]

VERIFY, WHO, WHEN = "I want to book a visit", "my name is Ada", "tomorrow at nine"


class _Intent(Asks):
    question = "What can I do for you?"

    @function_tool
    async def confirm_intent(self) -> Any:
        """Confirm what the caller wants."""
        return complete(self, "a visit")


class _Identity(Asks):
    question = "Who are you?"

    @function_tool
    async def identify(self) -> Any:
        """Note who the caller is."""
        return complete(self, "Ada")


class _Schedule(Asks):
    question = "When does it suit you?"

    @function_tool
    async def schedule(self) -> Any:
        """Note when the visit is."""
        return complete(self, "tomorrow at nine")


class _Clinic(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Greet.")

    async def on_enter(self) -> None:
        group = TaskGroup(summarize_chat_ctx=False)
        group.add(_Intent, id="intent", description="what the caller wants")
        group.add(_Identity, id="identity", description="who the caller is")
        group.add(_Schedule, id="schedule", description="when it suits")
        await group
        self.session.say("You are booked, goodbye.")


CASCADES = {
    VERIFY: (
        "function_call confirm_intent",
        "function_call_output confirm_intent",
        "_Intent -> TaskGroup",
        "TaskGroup -> _Identity",
        "assistant: Who are you?",
    ),
    WHO: (
        "function_call identify",
        "function_call_output identify",
        "_Identity -> TaskGroup",
        "TaskGroup -> _Schedule",
        "assistant: When does it suit you?",
    ),
    WHEN: (
        "function_call schedule",
        "function_call_output schedule",
        "_Schedule -> TaskGroup",
        "TaskGroup -> _Clinic",
        "assistant: You are booked, goodbye.",
    ),
}


def _clinic(session_class: type[AgentSession[Any]]) -> Stage:
    model = ScriptedLLM(
        {
            "visit": Reply(calls=Call("confirm_intent")),
            "Ada": Reply(calls=Call("identify")),
            "nine": Reply(calls=Call("schedule")),
        }
    )
    stage = Stage(session_class, llm=model, agent=_Clinic)
    for at, words in ((0.0, VERIFY), (10.0, WHO), (20.0, WHEN)):
        stage.at(at, lambda stage, words=words: say(stage, words))  # type: ignore[misc]
    return stage


def _verdict_clinic(outcome: Outcome) -> list[str]:
    problems = []
    for words, wanted in CASCADES.items():
        got = held(outcome, words)
        events = [line for line in got if not line.startswith(("ends", "user:"))]
        if tuple(events) != wanted:
            missing = [line for line in wanted if line not in events]
            problems.append(
                f"`run({words!r})` lacks {missing}" if missing else f"`run({words!r})`: {events}"
            )
    return problems


class _Endless(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Wait.")

    async def on_enter(self) -> None:
        await asyncio.get_running_loop().create_future()


def _endless(session_class: type[AgentSession[Any]]) -> Stage:
    model = ScriptedLLM({"hello": "Good morning."})
    stage = Stage(session_class, llm=model, agent=_Endless, timers={"drain_limit": 5.0})
    return stage.at(0.5, lambda s: say(s, "hello"))


def _verdict_endless(outcome: Outcome) -> list[str]:
    got = held(outcome, "hello")
    problems = [] if "assistant: Good morning." in got else [f"`run('hello')` holds {got}"]
    if not any(line.startswith("ends after") for line in got):
        problems.append("`run('hello')` does not end")
    if outcome.closed_in > 30.0:
        problems.append("the session cannot be closed: it waits for `on_enter`")
    return problems


def _nested(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def again() -> str:
        """Ask once more."""
        await say(stage, "inner")
        return "asked"

    model = ScriptedLLM({"outer": Reply(calls=Call("again"))}, {"again": "All done."})
    stage = Stage(session_class, llm=model, tools=[again])
    return stage.at(1.0, lambda s: say(s, "outer"))


def _verdict_nested(outcome: Outcome) -> list[str]:
    problems = []
    if not any("raises nested runs are not supported" in line for line in held(outcome, "inner")):
        problems.append(f"the inner run is not refused: {held(outcome, 'inner')}")
    if "assistant: All done." not in held(outcome, "outer"):
        problems.append(f"the outer run holds {held(outcome, 'outer')}")
    return problems


def _closed(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def look_up() -> str:
        """Look it up."""
        await asyncio.sleep(8.0)
        return "found"

    async def close(stage: Stage) -> None:
        await stage.session.aclose()

    model = ScriptedLLM({"look": Reply(calls=Call("look_up"))})
    stage = Stage(session_class, llm=model, tools=[look_up])
    return stage.at(1.0, lambda s: say(s, "look")).at(3.0, close)


def _verdict_closed(outcome: Outcome) -> list[str]:
    got = held(outcome, "look")
    if not got:
        return ["the run does not end when the session closes"]
    if not got[-1].startswith("raises"):
        return [f"the session closes, and the run ends as if nothing had been: {got}"]
    return []


RUNS: Conversations = {
    "R1": (_clinic, _verdict_clinic),
    "R2": (_endless, _verdict_endless),
    "R3": (_nested, _verdict_nested),
    "R4": (_closed, _verdict_closed),
}
