"""A tool that interrupts its own turn goes on, as on AgentSession, and is told of no user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from livekit.agents import AgentSession, RunContext, function_tool
from scripted_tool import tool

from turnfsm.livekit import TurnContext, TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

PREAMBLE = "I am going to look that up for you, it takes me a moment or two."
POLICIES = ["detach", "cancel", "finish", "hold"]

Interrupts = Callable[[RunContext[Any]], Any]


def _session_does(context: RunContext[Any]) -> None:
    context.session.interrupt()


def _speech_does(context: RunContext[Any]) -> None:
    context.speech_handle.interrupt()


def _look_up(policy: Any, interrupts: Interrupts, before: float, after: float) -> Any:
    @on_interruption(policy)
    @function_tool
    async def look_up(context: RunContext[Any]) -> str:
        """Look it up."""
        await asyncio.sleep(before)
        interrupts(context)
        if after:
            await asyncio.sleep(after)
        return "found"

    return look_up


def _play(session_class: type[AgentSession[Any]], *tools: Any) -> Outcome:
    """The user asks; the tool runs while its preamble of 5 s is heard."""
    calls = tuple(Call(tool.info.name) for tool in tools)
    stage = Stage(
        session_class,
        user=ScriptedUser().says("look it up", at=1.0),
        llm=ScriptedLLM({"look": Reply(PREAMBLE, calls=calls)}, {"look_up": "There it is."}),
        tts=ScriptedTTS(durations={PREAMBLE: 5.0}),
        tools=tools,
    )
    return stage.run(16.0)


def _outputs(outcome: Outcome) -> list[tuple[str, bool]]:
    items = outcome.history.items
    return [(i.output, i.is_error) for i in items if i.type == "function_call_output"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("after", [0.0, 1.0], ids=["returns", "goes on"])
@pytest.mark.parametrize("before", [1.0, 7.0], ids=["preamble", "silence"])
@pytest.mark.parametrize("interrupts", [_session_does, _speech_does], ids=["session", "speech"])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_heard_and_recorded_is_what_agent_session_has(
    policy: Any, interrupts: Interrupts, before: float, after: float
) -> None:
    """Policies are about the user, so all of them behave alike here.

    There is no additional reply and no error, and the result is in the history.
    """
    stock, ours = (
        _play(session, _look_up(policy, interrupts, before, after))
        for session in (AgentSession, TurnSession)
    )
    assert [h.text for h in ours.heard] == [h.text for h in stock.heard], ours.timeline()
    assert _outputs(ours) == _outputs(stock) == [("found", False)]
    assert ours.errors == stock.errors == []


def test_it_may_have_its_effect_after_it_has_interrupted() -> None:
    """commit_point() asks whether the user still wants it."""
    effects: list[str] = []

    @function_tool
    async def look_up(context: TurnContext) -> str:
        """Look it up."""
        await asyncio.sleep(1.0)
        context.session.interrupt()
        await context.commit_point()
        effects.append("looked up")
        return "found"

    outcome = _play(TurnSession, look_up)
    assert effects == ["looked up"]
    assert _outputs(outcome) == [("found", False)]


def test_a_call_beside_it_is_released() -> None:
    """A call of the same turn that held it goes on to its end and is not cancelled."""
    transfer = tool("transfer", "done", seconds=4.0, policy="hold")
    outcome = _play(TurnSession, _look_up("detach", _session_does, 1.0, 0.0), transfer)
    assert {("done", False), ("found", False)} < set(_outputs(outcome))
    assert not any(is_error for _, is_error in _outputs(outcome))
    assert outcome.errors == []
