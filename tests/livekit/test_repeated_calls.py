"""The same call twice in one turn: it runs twice, unless its tool runs once."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest
from livekit.agents import Agent, ToolError, function_tool

from turnfsm.fsm import parse_flow
from turnfsm.fsm.journal import Note
from turnfsm.livekit import TurnContext, TurnSession, once
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

PAY = Call("pay", {"amount": 5})
NOT_AGAIN = "The tool did not run again."


class Bank:
    """Its tool is called twice.

    Args:
        seconds: How long a payment takes.
        gives: What the tool returns or raises, one after the other.
    """

    def __init__(self, *gives: Any, seconds: float = 0.2) -> None:
        self.paid: list[float] = []

        @function_tool
        async def pay(amount: int) -> Any:
            """Pay."""
            given = gives[len(self.paid)]
            self.paid.append(amount)
            await asyncio.sleep(seconds)
            if isinstance(given, Exception):
                raise given
            return given

        self.pay = pay


def played(
    tool: Any, session: Any = TurnSession, *, at_once: bool = False, user: Any = None
) -> tuple[Outcome, Stage]:
    """The model calls the tool twice for one question: one after the other, or at once."""
    user = user or ScriptedUser().says("please pay", at=1.0)
    made = Reply(calls=[PAY, PAY] if at_once else PAY)
    after = [] if at_once else [Reply(calls=PAY)]
    model = ScriptedLLM(
        {"please pay": made, "hello": "Hello."},
        {"pay": lambda _: after.pop(0) if after else "It is paid."},
    )
    stage = Stage(session, user=user, llm=model, tools=[tool])
    return stage.run(12.0), stage


def outputs(outcome: Outcome) -> list[str]:
    """The outputs of the calls, in the order of the history."""
    items = outcome.history.items
    return [item.output for item in items if item.type == "function_call_output"]


def answered(stage: Stage) -> list[tuple[str, str]]:
    """Which call was answered by which, as the journal has it."""
    records = stage.session.turn.journal.read().records  # type: ignore[attr-defined]
    notes = (r for r in records if isinstance(r, Note) and r.kind == "tool_answered")
    return [(note.data["call"], note.data["by"]) for note in notes]


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
def test_two_identical_calls_run_twice(session_class: Any, at_once: bool) -> None:
    """On both sessions: nothing marks the tool."""
    bank = Bank("paid once", "paid twice")
    outcome, _ = played(bank.pay, session_class, at_once=at_once)
    assert bank.paid == [5, 5]
    assert outputs(outcome) == ["paid once", "paid twice"]


FLOW = """
flow: mine
extends: turn
tools: {once: pay}
"""


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
@pytest.mark.parametrize("by", ["decorator", "flow"])
def test_a_tool_that_runs_once_answers_the_second_call_and_says_so(
    by: str, at_once: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The model reads it in the output, the journal has a note, the log has a line."""
    caplog.set_level(logging.INFO, "turnfsm")
    bank = Bank("paid", seconds=1.5)
    flow, _ = parse_flow(FLOW)
    tool: Any = bank.pay if by == "flow" else once(bank.pay)
    session: Any = partial(TurnSession, flow=flow) if by == "flow" else TurnSession
    outcome, stage = played(tool, session, at_once=at_once)
    assert bank.paid == [5]
    assert outputs(outcome) == [
        "paid",
        f"paid\nThis is the result of the identical call call_1. {NOT_AGAIN}",
    ]
    assert answered(stage) == [("call_2", "call_1")]
    assert "tool pay (call_2) does not run: the identical call call_1 answers it" in caplog.messages
    assert outcome.heard_saying("It is paid.") is not None


def test_a_tool_that_runs_once_may_fail_and_is_tried_again() -> None:
    """An error that it raises is no effect; an error that it returns is a result."""
    bank = Bank(ToolError("the bank does not answer"), "paid")
    outcome, stage = played(once(bank.pay))
    assert bank.paid == [5, 5]
    assert outputs(outcome) == ["the bank does not answer", "paid"]
    assert answered(stage) == []


def test_a_second_call_beside_one_that_gives_nothing_wants_no_reply() -> None:
    """As the first one; its output still says that the tool did not run."""
    bank = Bank(None)
    outcome, _ = played(once(bank.pay), at_once=True)
    assert bank.paid == [5]
    assert outputs(outcome)[1].endswith(NOT_AGAIN)
    assert outcome.heard == []


def test_a_second_call_whose_turn_is_interrupted_is_told_that_the_first_one_runs() -> None:
    """It does not wait any longer, and does not run after the interruption."""
    bank = Bank("paid", seconds=4.0)
    user = ScriptedUser().says("please pay", at=1.0).says("hello", at=3.5)
    outcome, stage = played(once(bank.pay), at_once=True, user=user)
    assert bank.paid == [5]
    assert f"The identical call call_1 is still running. {NOT_AGAIN}" in outputs(outcome)
    assert answered(stage) == [("call_2", "call_1")]
    assert outcome.heard_saying("It is paid.") is not None, outcome.timeline()
    assert outcome.orphans == ()


def test_a_call_that_reports_is_not_waited_for() -> None:
    """It has called `ctx.update()`; the second call is told that it runs."""
    paid: list[int] = []

    @once
    @function_tool
    async def pay(context: TurnContext[Any], amount: int) -> str:
        """Pay."""
        paid.append(amount)
        await context.update("it takes a while")
        await asyncio.sleep(5.0)
        return "paid"

    outcome, _ = played(pay, at_once=True)
    assert paid == [5]
    assert f"The identical call call_1 is still running. {NOT_AGAIN}" in outputs(outcome)


def test_an_agent_that_a_tool_returned_once_is_handed_over_to_once() -> None:
    """Two calls at once return the same agent, and it is entered."""
    entered: list[str] = []

    class Billing(Agent):
        async def on_enter(self) -> None:
            entered.append("billing")

    bank = Bank(Billing(instructions="Bill."))
    outcome, _ = played(once(bank.pay), at_once=True)
    assert bank.paid == [5]
    assert entered == ["billing"]
    assert outcome.errors == []
