"""A tool that awaits an AgentTask, while something else goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from both import conversation_is_given
from livekit.agents import Agent, AgentSession, AgentTask, RunContext, function_tool
from outcomes import heard
from realtime_stage import Says

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)
from turnfsm.runtime.testing.livekit.tasks import complete

SOON = {"endpointing": {"min_delay": 0.2, "max_delay": 3.0}}
"""A turn ends when the VAD reports that the voice has ended."""


class Name(AgentTask[str]):
    """A task that asks for the name, and has it soon."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the name.")

    async def on_enter(self) -> Any:
        await self.session.say("What is your name?")
        await asyncio.sleep(0.5)
        return complete(self, "Ann")


class Clerk(Agent):
    """An agent whose tool has the name asked for."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def book(self, context: RunContext) -> str:
        """Book it."""
        return f"booked for {await Name()}"


class Choice(Name):
    """A task with a tool whose name LiveKit uses for a method of tasks."""

    @function_tool
    async def done(self, choice: str) -> None:  # type: ignore[override]
        """End the choice."""


class Caterer(Clerk):
    """An agent whose tool awaits such a task."""

    @function_tool
    async def book(self, context: RunContext) -> str:
        """Book it."""
        return f"booked for {await Choice()}"


def booking(session_class: Any, *, ttft: float = 0.2, agent: Any = Clerk, **parts: Any) -> Stage:
    """At 0.5 s the user asks for the call."""
    model = ScriptedLLM(
        {"book it": Reply("One moment please.", calls=Call("book"), ttft=ttft)},
        {"book": "Your table is booked."},
    )
    user = parts.pop("user", ScriptedUser()).says("book it", at=0.5)
    return Stage(session_class, user=user, llm=model, agent=agent, **parts)


both = pytest.mark.parametrize("session_class", [AgentSession, TurnSession])


@both
def test_a_drain_lets_a_tool_begin_its_task(session_class: Any) -> None:
    """The session drains while the words before the call are heard."""
    took: list[float] = []

    async def drain(stage: Stage) -> None:
        begun = stage.now
        await stage.session.drain()
        took.append(stage.now - begun)

    outcome = booking(session_class).at(1.65, drain).run(20.0)
    assert heard(outcome)[-2:] == ["What is your name?", "Your table is booked."], (
        outcome.timeline()
    )
    assert took[0] < 2.0
    assert outcome.errors == []


def test_the_result_of_an_agent_that_was_replaced_during_a_task_is_delivered_by_the_next() -> None:
    """The application replaces the agent while the tool's task is about to begin."""
    stage = booking(TurnSession)
    stage.at(2.7, lambda stage: stage.session.update_agent(Says("I take over.")))
    outcome = stage.run(20.0)
    assert heard(outcome)[-2:] == ["I take over.", "Your table is booked."], outcome.timeline()
    assert outcome.errors == []
    assert [text for _, text in outcome.warnings if "scheduling_task" in text] == []


@both
def test_a_reply_that_cannot_be_interrupted_begins_when_a_noise_ends(session_class: Any) -> None:
    """A tool that awaits a task makes its turn uninterruptible: no words can cut the reply."""
    user = ScriptedUser().makes_noise(at=1.6, duration=0.9)
    outcome = booking(session_class, user=user).run(20.0)
    assert heard(outcome)[0] == "One moment please.", outcome.timeline()
    assert outcome.heard[0].start < 3.2, outcome.timeline()


def test_a_reply_begins_when_the_words_that_the_next_agent_answers_are_known() -> None:
    """The user speaks before the task begins; the task answers it. The words before need not wait
    for it."""
    user = ScriptedUser().says("and the weather", at=1.6, duration=1.2, stt_delay=0.1)
    outcome = booking(TurnSession, user=user, turn_handling=SOON, ttft=0.9).run(20.0)
    assert heard(outcome)[0] == "One moment please.", outcome.timeline()
    assert outcome.heard[0].start < 3.5, outcome.timeline()


@both
def test_a_reply_that_cannot_be_interrupted_begins_when_a_voice_ends_that_was_committed(
    session_class: Any,
) -> None:
    """The application commits the turn while the user still speaks."""
    user = ScriptedUser().says("and the weather", at=1.6, duration=1.2, stt_delay=0.1)
    stage = booking(session_class, user=user, turn_handling=SOON, ttft=0.9)
    outcome = stage.at(2.0, lambda stage: stage.session.commit_user_turn()).run(20.0)
    assert heard(outcome)[0] == "One moment please.", outcome.timeline()
    assert outcome.heard[0].start < 3.5, outcome.timeline()


class Question(AgentTask[str]):
    """A task that nobody completes."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the name.")

    async def on_enter(self) -> None:
        self.session.say("What is your name?")


def test_a_close_does_not_wait_for_a_task_that_was_replaced() -> None:
    """The application replaces the agent during the task: nobody completes it any more. The tool
    gets the error that it gets if the session closes during the task."""
    ended: list[str] = []

    class Asks(Agent):
        @function_tool
        async def book(self, context: RunContext) -> str:
            """Book it."""
            try:
                return await Question()
            except BaseException as error:
                ended.append(type(error).__name__)
                raise

    took: list[float] = []

    async def close(stage: Stage) -> None:
        begun = stage.now
        await stage.session.aclose()
        took.append(stage.now - begun)

    user = ScriptedUser().says("book it", at=0.5)
    model = ScriptedLLM({"book it": Reply("One moment please.", calls=Call("book"))})
    stage = Stage(TurnSession, user=user, llm=model, agent=Asks(instructions="Help."))
    stage.at(5.0, lambda stage: stage.session.update_agent(Says("I take over.")))
    outcome = stage.at(9.0, close).run(20.0)
    assert heard(outcome) == ["One moment please.", "What is your name?", "I take over."]
    assert took[0] < 2.5, outcome.timeline()
    assert ended == ["ToolError"]
    assert outcome.errors == []
    assert outcome.orphans == ()


@pytest.mark.skipif(not conversation_is_given, reason="2.0 itself asks the tool")
@both
def test_a_tool_of_a_task_may_be_called_done(session_class: Any) -> None:
    """The session asks the task itself whether it is done, and not its tool."""
    outcome = booking(session_class, agent=Caterer).run(12.0)
    assert heard(outcome)[-1] == "Your table is booked."
