"""A scripted model knows what a request gives it: its tools, its instructions, its hints."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import Agent, AgentSession, AgentTask, RunContext, function_tool
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

BOTH = pytest.mark.parametrize("session", [AgentSession, TurnSession])


def play(session: Any, agent: Agent, model: ScriptedLLM, user: ScriptedUser) -> Outcome:
    return Stage(session, user=user, llm=model, agent=lambda: agent).run(16.0)


class Billing(Agent):
    async def on_enter(self) -> None:
        await self.session.generate_reply(instructions="Greet the caller for billing.")


class Desk(Agent):
    @function_tool
    async def to_billing(self) -> Agent:
        """Put the caller through."""
        return Billing(instructions="Bill.", chat_ctx=self.chat_ctx.copy())


@BOTH
def test_a_tool_that_the_next_agent_lacks_is_not_called_again(session: Any) -> None:
    """The copy of the conversation that it gets ends with the caller's request."""
    model = ScriptedLLM({"my bill": Reply("One moment.", calls=Call("to_billing"))})
    user = ScriptedUser().says("my bill please", at=1.0)
    outcome = play(session, Desk(instructions="Help."), model, user)
    assert [run.name for run in outcome.tools] == ["to_billing"]
    assert outcome.warnings == [], outcome.timeline()


@BOTH
def test_the_instructions_of_a_reply_have_a_rule(session: Any) -> None:
    rules = {"Greet": "Billing here.", "my bill": Reply(calls=Call("to_billing"))}
    user = ScriptedUser().says("my bill please", at=1.0)
    outcome = play(session, Desk(instructions="Help."), ScriptedLLM(rules), user)
    assert [heard.text for heard in outcome.heard] == ["Billing here."], outcome.timeline()


class Consent(AgentTask[bool]):
    def __init__(self) -> None:
        super().__init__(instructions="Ask whether the name may be stored.")

    async def on_enter(self) -> None:
        await self.session.generate_reply(instructions="Ask for consent.")

    @function_tool
    async def record(self) -> None:
        """Record a yes."""
        self.complete(True)


class Registry(Agent):
    @function_tool
    async def register(self, ctx: RunContext[Any]) -> str:
        """Register the caller."""
        return f"registered: {await Consent()}"


@BOTH
def test_a_result_that_has_not_come_is_not_answered(session: Any) -> None:
    """LiveKit shows the running call, with a text in place of its result."""
    model = ScriptedLLM(
        {"register": Reply(calls=Call("register")), "sure": Reply(calls=Call("record"))},
        {"register": "You are registered."},
        otherwise="May I store your name?",
    )
    user = ScriptedUser().says("register me", at=1.0).says("sure", at=6.0)
    outcome = play(session, Registry(instructions="Help."), model, user)
    expected = ["May I store your name?", "You are registered."]
    assert [heard.text for heard in outcome.heard] == expected, outcome.timeline()


def booked(**options: Any) -> tuple[ScriptedLLM, Outcome]:
    """The user asks for something else while a tool holds the turn."""
    model = ScriptedLLM(
        {"book": Reply(calls=Call("book")), "hello": "I am here."},
        {"book": "It is booked."},
        **options,
    )
    agent = Agent(instructions="Help.", tools=[tool("book", "done", seconds=3.0, policy="hold")])
    user = ScriptedUser().says("book it", at=1.0).says("hello", at=3.0)
    return model, play(TurnSession, agent, model, user)


def test_the_answer_mentions_the_result_that_the_hint_names() -> None:
    model, outcome = booked(reads_hints=True)
    assert outcome.heard_saying("I am here. It is booked."), outcome.timeline()
    assert "the result of book" in model.requests[-1].hint
    assert "the result of book" in outcome.timeline()


def test_a_result_that_was_told_is_not_mentioned_again() -> None:
    _, outcome = booked(reads_hints=True)
    assert sum(heard.text.count("booked") for heard in outcome.heard) == 1, outcome.timeline()


def test_a_model_reads_no_hint_unless_it_is_told_to() -> None:
    _, outcome = booked()
    assert outcome.heard_saying("I am here.")
    assert not outcome.heard_saying("booked")


def test_a_tool_that_no_request_has_offered_is_reported_by_livekit() -> None:
    """Its name in the script is misspelt, most likely."""
    model = ScriptedLLM({"book": Reply("Yes.", calls=Call("bok"))})
    agent = Agent(instructions="Help.", tools=[tool("book", "done")])
    outcome = play(TurnSession, agent, model, ScriptedUser().says("book it", at=1.0))
    assert [text for _, text in outcome.warnings] == ["unknown AI function `bok`"]
