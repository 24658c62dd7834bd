"""The end of a call, and a handoff: a tool that runs completes, as on AgentSession."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import AgentSession, RunContext, function_tool
from livekit.agents.voice.events import CloseReason
from realtime_stage import Says

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

JOKE = "Here is a joke."
DELIVERED = "It is paid."
NEXT = "I am the next one."


class _Payment:
    """A tool that charges, takes its time, and confirms."""

    def __init__(self, seconds: float, *, reports: bool = False, policy: Any = None) -> None:
        self.effects: list[str] = []

        async def pay(context: RunContext[None]) -> str:
            """Pay."""
            self.effects.append("charged")
            if reports:
                await context.update("still paying")
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                self.effects.append("cancelled")
                raise
            self.effects.append("confirmed")
            return "paid"

        tool = function_tool(pay)
        self.tool: Any = on_interruption(policy)(tool) if policy else tool


def _stage(session_class: Any, payment: _Payment, *, objects: bool, **options: Any) -> Stage:
    """The user asks for a payment at 1 s; the tool begins at 2.2 s. The user may object at 3.5 s:
    then no turn waits for the tool."""
    user = ScriptedUser().says("pay it", at=1.0)
    if objects:
        user.says("tell me a joke", at=3.5)
    model = ScriptedLLM(
        {"pay": Reply("Let me see.", calls=Call("pay")), "joke": JOKE}, {"pay": DELIVERED}
    )
    return Stage(session_class, user=user, llm=model, tools=[payment.tool], **options)


async def _end(session: AgentSession[Any], how: str) -> None:
    closed = asyncio.Event()
    session.on("close", lambda _: closed.set())
    if how == "hangs up":
        session._close_soon(reason=CloseReason.PARTICIPANT_DISCONNECTED)
    elif how == "shutdown":
        session.shutdown()
    else:
        await session.aclose()
    await closed.wait()


def _outputs(outcome: Outcome) -> list[str]:
    items = outcome.history.items
    return [item.output for item in items if item.type == "function_call_output"]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("reports", [False, True], ids=["", "reports"])
@pytest.mark.parametrize("objects", [False, True], ids=["", "objects"])
@pytest.mark.parametrize("how", ["hangs up", "shutdown", "aclose"])
@pytest.mark.parametrize("seconds", [8.0, 20.0])
def test_a_tool_that_has_charged_confirms_though_the_call_ends(
    session_class: Any, seconds: float, how: str, objects: bool, reports: bool
) -> None:
    """Its result is in the history; the close waits for it, and nothing is left."""
    payment = _Payment(seconds, reports=reports)
    stage = _stage(session_class, payment, objects=objects)
    outcome = stage.at(6.0, lambda s: _end(s.session, how)).run(40.0)
    assert payment.effects == ["charged", "confirmed"], outcome.timeline()
    assert _outputs(outcome)[-1] == "paid"
    assert outcome.orphans == ()


@pytest.mark.parametrize("reports", [False, True], ids=["", "reports"])
@pytest.mark.parametrize("objects", [False, True], ids=["", "objects"])
def test_a_handoff_lets_a_tool_of_12_s_confirm(
    session_class: Any, objects: bool, reports: bool
) -> None:
    """On both; here the next agent says the result if it was not said before."""
    payment = _Payment(12.0, reports=reports)
    stage = _stage(session_class, payment, objects=objects)
    outcome = stage.at(6.0, lambda s: s.session.update_agent(Says(NEXT, waits=True))).run(25.0)
    assert payment.effects == ["charged", "confirmed"], outcome.timeline()
    assert outcome.heard_saying(NEXT) is not None
    if session_class is TurnSession:
        told = [heard for heard in outcome.heard if heard.text == DELIVERED]
        assert told, outcome.timeline()
        assert told[-1].start > 14.0


def test_the_session_is_closed_to_the_caller_at_once() -> None:
    """The caller hangs up while a tool runs for 20 s. Nothing is said any more, no turn is
    answered, and nobody can begin anything."""
    errors: list[str] = []
    payment = _Payment(20.0)

    async def ends(stage: Stage) -> None:
        ending = asyncio.ensure_future(_end(stage.session, "hangs up"))
        await asyncio.sleep(0.1)
        for begin in (
            lambda: stage.session.say("Hello?"),
            lambda: stage.session.run(user_input="hello"),
            lambda: stage.session.generate_reply(user_input="hello"),
        ):
            with pytest.raises(RuntimeError, match="closing") as raised:
                begin()
            errors.append(str(raised.value))
        await ending

    stage = _stage(TurnSession, payment, objects=False)
    stage.user.says("tell me a joke", at=8.0)
    outcome = stage.at(6.0, ends).run(40.0)
    assert len(errors) == 3
    assert payment.effects == ["charged", "confirmed"]
    assert [heard.text for heard in outcome.heard] == ["Let me see."], outcome.timeline()
    assert [request for request in outcome.requests if request.at > 6.0] == []


@pytest.mark.parametrize("how", ["hangs up", "update_agent"])
def test_what_an_end_waits_for_is_reported_while_it_is_waited_for(how: str) -> None:
    """At 5 s, when that has doubled, and when it is over: as an event, in the journal, in the
    log."""
    waits: list[Any] = []
    payment = _Payment(20.0)

    async def ends(stage: Stage) -> None:
        if how == "update_agent":
            stage.session.update_agent(Says(NEXT, waits=True))
        else:
            await _end(stage.session, how)

    stage = _stage(TurnSession, payment, objects=True)
    stage.at(0.0, lambda s: s.session.on("turn_waits_long", waits.append) and None)  # type: ignore[arg-type]
    stage.at(7.0, ends).run(40.0)
    assert {wait.cause for wait in waits} == {"tool_running"}
    assert {wait.names for wait in waits} == {("pay (call_1)",)}
    assert {wait.waiting for wait in waits} == {"close" if how == "hangs up" else "handoff"}
    seconds = [(round(wait.seconds), wait.ended) for wait in waits]
    assert seconds == [(5, False), (10, False), (15, True)], waits
    session: Any = stage.session
    noted = [note.data for note in session.turn.journal.read().notes]
    assert [data["seconds"] for data in noted if "cause" in data] == [w.seconds for w in waits]


@pytest.mark.parametrize("how", ["hangs up", "update_agent"])
@pytest.mark.parametrize("limit", ["timers", "limits"])
def test_a_limit_of_the_end_is_chosen(limit: str, how: str) -> None:
    """With `drain_limit` a close stops a tool. A handoff stops only one with the policy cancel."""
    payment = _Payment(20.0)
    chosen: dict[str, Any] = {"timers": {"drain_limit": 5.0}, "limits": "brisk"}
    stage = _stage(TurnSession, payment, objects=True, **{limit: chosen[limit]})

    async def ends(stage: Stage) -> None:
        if how == "update_agent":
            stage.session.update_agent(Says(NEXT, waits=True))
        else:
            await _end(stage.session, how)

    outcome = stage.at(7.0, ends).run(40.0)
    if how == "hangs up":
        assert payment.effects == ["charged", "cancelled"]
        return
    entered = outcome.heard_saying(NEXT)
    assert entered is not None, outcome.timeline()
    assert entered.start < 13.0
    assert payment.effects == ["charged", "confirmed"], outcome.timeline()
    told = outcome.heard_saying(DELIVERED)
    assert told is not None, outcome.timeline()
    assert 22.0 < told.start < 25.0
    assert _outputs(outcome)[-1] == "paid"
    assert outcome.orphans == ()


def test_with_a_drain_limit_a_handoff_stops_a_call_of_the_policy_cancel() -> None:
    """It was asked for: it need not outlive its agent."""
    payment = _Payment(20.0, policy="cancel")
    limits = {"drain_limit": 5.0, "tool_limit": 2.0}
    stage = _stage(TurnSession, payment, objects=False, timers=limits)
    stage.at(7.0, lambda s: s.session.update_agent(Says(NEXT, waits=True))).run(40.0)
    assert payment.effects == ["charged", "cancelled"]
