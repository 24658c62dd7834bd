"""A tool returns an agent: whose call hands over, although somebody interrupts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import AgentSession, RunContext, function_tool
from realtime_stage import Says
from scripted_tool import tool

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

ASKED = {"billing": Reply(calls=Call("transfer")), "how long": "An hour."}
NOT_DONE = "the handoff did not happen: its turn was interrupted"

SESSIONS = pytest.mark.parametrize("session_class", [TurnSession, AgentSession])
KINDS = pytest.mark.parametrize("kind", ["pipeline", "client", "server"])


def _transfer(policy: Any, seconds: float, *gives: Any, interrupts: bool = False) -> Any:
    @on_interruption(policy)
    @function_tool
    async def transfer(ctx: RunContext[Any]) -> Any:
        """Transfer the user to billing."""
        await asyncio.sleep(seconds)
        if interrupts:
            ctx.session.interrupt()
        billing = Says("Billing here.", waits=True)
        return (billing, *gives) if gives else billing

    return transfer


def _play(
    kind: str,
    *tools: Any,
    words_at: float | None,
    session_class: Any = TurnSession,
    asked: Any = ASKED,
    **options: Any,
) -> Outcome:
    user = ScriptedUser().says("to billing please", at=0.5)
    if words_at is not None:
        user = user.says("and how long", at=words_at)
    told = dict.fromkeys(("transfer", "look_up"), "Transferred.")
    model, voice, detects = ScriptedLLM(asked, told), ScriptedTTS(), kind == "server"
    speech = ScriptedRealtime(user, model, voice, turn_detection=detects)
    handling = {"turn_detection": "realtime_llm" if detects else "vad"}
    parts: Any = {"llm": model if kind == "pipeline" else speech, "turn_handling": handling}
    stage = Stage(session_class, user=user, tts=voice, tools=[*tools], **parts, **options)
    return stage.run(25.0)


def _handoffs(outcome: Outcome) -> list[Any]:
    """The first agent's entry is the first one."""
    return [item for item in outcome.history.items if item.type == "agent_handoff"]


def _outputs(outcome: Outcome) -> list[str]:
    return [i.output for i in outcome.history.items if i.type == "function_call_output"]


@pytest.mark.one_in(5)
@KINDS
@pytest.mark.parametrize("policy", ["hold", "finish"])
@pytest.mark.parametrize("words_at", [2.5, 4.4])
def test_a_call_that_holds_its_turn_hands_over_whatever_the_user_says(
    kind: str, policy: str, words_at: float
) -> None:
    """Nobody could interrupt it. What was said is answered, and by a pipeline behind the greeting;
    words that go on during the handoff are spoken over the greeting."""
    outcome = _play(kind, _transfer(policy, 3.0), words_at=words_at)
    assert len(_handoffs(outcome)) == 2, outcome.timeline()
    assert NOT_DONE not in _outputs(outcome)
    greeting, answer = outcome.heard_saying("Billing here."), outcome.heard_saying("An hour.")
    assert answer is not None, outcome.timeline()
    if words_at < 4.0:
        assert greeting is not None, outcome.timeline()
        assert kind == "server" or greeting.start < answer.start


@KINDS
@SESSIONS
def test_a_tool_that_interrupts_its_own_turn_hands_over(kind: str, session_class: Any) -> None:
    """As on `AgentSession`."""
    tool = _transfer("detach", 2.0, interrupts=True)
    outcome = _play(kind, tool, words_at=None, session_class=session_class)
    assert outcome.heard_saying("Billing here.") is not None, outcome.timeline()


@KINDS
def test_a_call_of_an_interrupted_turn_hands_nobody_over(kind: str) -> None:
    """The user speaks while it runs. What else it has returned is not lost."""
    outcome = _play(kind, _transfer("detach", 4.0, "noted"), words_at=3.0)
    assert outcome.heard_saying("Billing here.") is None
    assert f"noted; {NOT_DONE}" in _outputs(outcome)


def test_a_call_that_has_held_its_turn_for_too_long_hands_nobody_over() -> None:
    """The time limit of the policy finish is over: then the user has interrupted."""
    outcome = _play("pipeline", _transfer("finish", 12.0), words_at=2.5)
    assert outcome.heard_saying("Billing here.") is None
    assert _outputs(outcome)[-1] == NOT_DONE


@pytest.mark.parametrize("policy", ["hold", "finish"])
@pytest.mark.parametrize("seconds", [4.0, 1000.0])
def test_a_call_that_has_ended_does_not_hold_the_turn_for_those_beside_it(
    policy: str, seconds: float
) -> None:
    """LiveKit hands over when all calls of the step have ended: one may hang."""
    look_up = tool("look_up", "found", seconds=seconds)
    asked = {**ASKED, "billing": Reply(calls=(Call("transfer"), Call("look_up")))}
    outcome = _play("pipeline", _transfer(policy, 1.0), look_up, words_at=3.0, asked=asked)
    answer = outcome.heard_saying("An hour.")
    assert answer is not None, outcome.timeline()
    assert answer.start < 6.0


@pytest.mark.parametrize("policy", ["hold", "finish"])
def test_a_call_that_holds_its_turn_for_one_beside_it_hands_over_for_it(policy: Any) -> None:
    """The first call returns the agent, the second one ends after it, and the user has spoken."""
    look_up = tool("look_up", "found", seconds=4.0, policy=policy)
    asked = {**ASKED, "billing": Reply(calls=(Call("transfer"), Call("look_up")))}
    outcome = _play("pipeline", _transfer(policy, 1.0), look_up, words_at=3.0, asked=asked)
    assert NOT_DONE not in _outputs(outcome)
    assert outcome.heard_saying("Billing here.") is not None, outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None, outcome.timeline()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("policies", [("hold", "detach"), ("detach", "hold")])
@pytest.mark.parametrize("order", [("transfer", "look_up"), ("look_up", "transfer")])
@pytest.mark.parametrize("gives", ["found", None])
def test_calls_that_end_in_the_same_moment_hand_over_if_one_of_them_holds_the_turn(
    policies: tuple[Any, Any], order: tuple[str, str], gives: str | None
) -> None:
    """The user has spoken, and the turn is kept: it does not come between their ends."""
    of_transfer, of_look_up = policies
    look_up = tool("look_up", gives, seconds=4.0, policy=of_look_up)
    asked = {**ASKED, "billing": Reply(calls=tuple(Call(name) for name in order))}
    outcome = _play("pipeline", _transfer(of_transfer, 4.0), look_up, words_at=2.0, asked=asked)
    assert NOT_DONE not in _outputs(outcome)
    assert outcome.heard_saying("Billing here.") is not None, outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None, outcome.timeline()


def test_an_application_that_refuses_the_handoff_leaves_a_turn_that_can_be_interrupted() -> None:
    """`cancel_agent_handoff()` in a listener of `function_tools_executed`."""

    def make(**options: Any) -> Any:
        session = TurnSession(**options)
        session.on("function_tools_executed", lambda event: event.cancel_agent_handoff())
        return session

    outcome = _play("pipeline", _transfer("hold", 3.0), words_at=3.5, session_class=make)
    assert outcome.heard_saying("Billing here.") is None
    assert outcome.heard_saying("An hour.") is not None, outcome.timeline()


@pytest.mark.parametrize("session_class", [TurnSession, AgentSession])
@pytest.mark.parametrize("policy", ["hold", "finish"])
def test_a_preamble_can_be_interrupted_when_its_call_has_ended(
    policy: str, session_class: Any
) -> None:
    """As on `AgentSession`, which then hands over to nobody."""
    preamble = "I will put you through to billing in a moment, please stay on the line."
    asked = {**ASKED, "billing": Reply(preamble, calls=Call("transfer"))}
    tool = _transfer(policy, 0.1)
    outcome = _play("pipeline", tool, words_at=3.5, session_class=session_class, asked=asked)
    heard = outcome.heard_saying("I will put")
    assert heard is not None, outcome.timeline()
    assert heard.end < 5.0
    answer = outcome.heard_saying("An hour.")
    assert answer is not None
    assert len(_handoffs(outcome)) == 1
