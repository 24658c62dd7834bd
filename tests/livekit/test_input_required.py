"""livekit-agents 2.0: tools that ask the user, and tools that the user must approve."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent, function_tool, llm

from turnfsm.fsm import load_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

if not hasattr(llm, "InputRequired"):
    pytest.skip("livekit-agents 1.8 has no InputRequired", allow_module_level=True)

InputRequired: Any = getattr(llm, "InputRequired", None)

ASK, QUESTION = "a table please", "For how many people?"
SENT = "I have sent it."
BANK = 'flow: bank\nextends: turn\ntools: {confirm: {send: {say: "Shall I send {amount}?"}}}\n'


def said(outcome: Outcome) -> list[str]:
    return [heard.text for heard in outcome.heard if heard.text]


def notes(stage: Stage, kind: str) -> list[dict[str, Any]]:
    journal: Any = stage.session.turn.journal  # type: ignore[attr-defined]
    return [dict(note.data) for note in journal.notes(kind)]


@pytest.mark.parametrize("verbatim", [True, False])
@pytest.mark.parametrize("at", [5.0, 3.0], ids=["after the question", "over the question"])
def test_a_question_of_a_tool_is_pending_until_the_user_answers(verbatim: bool, at: float) -> None:
    @function_tool
    async def book() -> Any:
        """Book a table."""
        return InputRequired(QUESTION, verbatim=verbatim)

    model = ScriptedLLM(
        {ASK: Reply(calls=Call("book")), "four": "For four, then.", "Ask": QUESTION},
        otherwise=QUESTION,
    )
    user = ScriptedUser().says(ASK, at=0.5).says("four", at=at)
    stage = Stage(partial(TurnSession, flow="turn"), user=user, llm=model, tools=[book])
    outcome = stage.run(14.0)
    assert notes(stage, "tool_input_required") == [{"call": "call_1", "text": QUESTION}]
    journal: Any = stage.session.turn.journal  # type: ignore[attr-defined]
    (dropped,) = journal.notes("result_dropped")
    assert dropped.data == {"call": "call_1", "reason": "the user has answered its question"}
    assert dropped.t > at
    assert said(outcome)[-1] == "For four, then.", outcome.timeline()
    (output,) = (i for i in stage.session.history.items if i.type == "function_call_output")
    assert "four" in output.output


class Bank:
    def __init__(self) -> None:
        self.sent: list[int] = []

    def function(self) -> Any:
        @function_tool(requires_approval=True)  # type: ignore[call-overload]
        async def send(amount: int) -> str:
            """Send money."""
            self.sent.append(amount)
            return "sent"

        return send


def _model() -> ScriptedLLM:
    send = Reply(calls=Call("send", {"amount": 50}))

    def answered(asked: Request) -> Reply:
        return send if "yes" in asked.prompt else Reply("As you like.")

    return ScriptedLLM(
        {"send it": send, "yes": answered, "no": "As you like."}, on_tool={"send": SENT}
    )


@pytest.mark.parametrize(
    ("answer", "sent", "ends"), [("yes", [50], SENT), ("no leave it", [], "As you like.")]
)
@pytest.mark.parametrize("method", [False, True])
def test_a_tool_that_needs_an_approval_runs_after_the_yes_to_the_flow(
    answer: str, sent: list[int], ends: str, method: bool
) -> None:
    bank = Bank()

    class Clerk(Agent):
        @function_tool(requires_approval=True)  # type: ignore[call-overload]
        async def send(self, amount: int) -> str:
            """Send money."""
            bank.sent.append(amount)
            return "sent"

    user = ScriptedUser().says("send it", at=0.5).says(answer, at=6.0)
    session = partial(TurnSession, flow=parsed(BANK), proof="off")
    agent = {"agent": Clerk(instructions="")} if method else {"tools": [bank.function()]}
    stage = Stage(session, user=user, llm=_model(), **agent)
    outcome = stage.run(20.0)
    assert bank.sent == sent, outcome.timeline()
    assert said(outcome)[0] == "Shall I send 50?"
    assert said(outcome)[-1] == ends
    assert not any("Please confirm" in text for text in said(outcome))


@pytest.mark.parametrize(("answer", "sent"), [("yes", [50]), ("no leave it", [])])
def test_without_a_question_in_the_flow_livekit_asks(
    answer: str, sent: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    bank = Bank()
    user = ScriptedUser().says("send it", at=0.5).says(answer, at=8.0)
    session = partial(TurnSession, flow=load_flow("turn"))
    stage = Stage(session, user=user, llm=_model(), tools=[bank.function()])
    with caplog.at_level(logging.WARNING, "turnfsm"):
        outcome = stage.run(24.0)
    assert bank.sent == sent, outcome.timeline()
    assert "Please confirm" in said(outcome)[0]
    assert any("tools: {confirm: {send: " in record.message for record in caplog.records)
