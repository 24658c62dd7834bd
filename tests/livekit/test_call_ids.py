"""A model may give every call the same id: each call is still told from the others."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from livekit.agents import Agent, function_tool, llm
from realtime_stage import realtime

from turnfsm.livekit import TurnSession
from turnfsm.testing import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
    request_problems,
)


class OneId(ScriptedLLM):
    """Gives all its calls one id, as local models do from turn to turn."""

    def next_call_id(self) -> str:
        return "call_0"


@function_tool
async def book(at: str) -> str:
    """Book a table.

    Args:
        at: When.
    """
    return f"booked for {at}"


@function_tool
async def slow(at: str) -> str:
    """Book a table, slowly.

    Args:
        at: When.
    """
    await asyncio.sleep(6.0)
    return f"booked for {at}"


def asks(*hours: str) -> ScriptedUser:
    """A user who asks for these hours, ten seconds apart."""
    user = ScriptedUser()
    for number, hour in enumerate(hours):
        user.says(hour, at=1.0 + 10 * number)
    return user


def caller(*hours: str, tool: str = "book") -> OneId:
    """A model that calls the tool with what the user says."""
    calls = {hour: Reply(calls=Call(tool, {"at": hour})) for hour in hours}
    return OneId(calls, {tool: "It is booked."})  # type: ignore[arg-type]


def ids(context: llm.ChatContext) -> list[str]:
    """The ids of the calls of a context."""
    return [item.call_id for item in context.items if item.type == "function_call"]


def outputs(context: llm.ChatContext) -> list[tuple[str, str]]:
    """Which result belongs to which call."""
    return [(i.call_id, i.output) for i in context.items if i.type == "function_call_output"]


def assert_each_is_told_apart(outcome: Outcome, *results: str) -> None:
    """History, context and requests hold each call with its own result."""
    for context in (outcome.history, outcome.chat_ctx):
        assert [text for _, text in outputs(context)] == [*results]
        assert [call for call, _ in outputs(context)] == ids(context)
        assert request_problems(context) == []
    for request in outcome.requests:
        assert request_problems(request.chat_ctx, realtime=request.realtime) == []


def test_every_turn_may_use_the_same_id() -> None:
    """History, contexts and requests of every format hold three calls with their results."""
    hours = ("nine", "noon", "seven")
    stage = Stage(TurnSession, user=asks(*hours), llm=caller(*hours), tools=[book])
    outcome = stage.run(30.0)
    assert_each_is_told_apart(outcome, *(f"booked for {hour}" for hour in hours))
    ledger = stage.session.ledger  # type: ignore[attr-defined]
    assert [(c.id, c.output) for c in ledger] == outputs(outcome.history)


def test_an_id_that_is_used_once_stays_as_it_is() -> None:
    """Some providers use the id that they gave to find more; only a repeated id is replaced."""
    outcome = Stage(TurnSession, user=asks("nine"), llm=caller("nine"), tools=[book]).run(10.0)
    assert ids(outcome.history) == ["call_0"]


def test_a_released_call_may_still_run_under_the_id() -> None:
    """Its result comes in the end, and so does that of the later call."""
    user = ScriptedUser().says("nine", at=1.0).says("noon", at=4.0)
    model = caller("nine", "noon", tool="slow")
    stage = Stage(TurnSession, user=user, llm=model, tools=[slow])
    outcome = stage.run(30.0)
    assert_each_is_told_apart(outcome, "booked for nine", "booked for noon")
    assert outcome.errors == []


def test_calls_of_one_response_may_share_an_id() -> None:
    """Both run, and each has its result."""
    both = Reply(calls=[Call("book", {"at": "nine"}), Call("book", {"at": "noon"})])
    model = OneId({"both": both}, {"book": "They are booked."})
    outcome = Stage(TurnSession, user=asks("both"), llm=model, tools=[book]).run(10.0)
    assert_each_is_told_apart(outcome, "booked for nine", "booked for noon")


def test_a_call_that_is_refused_has_an_id_of_its_own() -> None:
    """A tool that there is not, twice: the model reads both errors."""
    model = OneId({"one": Reply(calls=Call("bok")), "two": Reply(calls=Call("bok"))})
    outcome = Stage(TurnSession, user=asks("one", "two"), llm=model, tools=[book]).run(20.0)
    assert len(set(ids(outcome.history))) == 2
    assert request_problems(outcome.history) == []


def test_a_context_from_before_may_hold_the_id() -> None:
    """An agent that starts with an earlier conversation."""
    before = llm.ChatContext(
        [
            llm.FunctionCall(call_id="call_0", name="book", arguments="{}", created_at=1.0),
            llm.FunctionCallOutput(
                call_id="call_0", name="book", output="full", is_error=False, created_at=2.0
            ),
        ]
    )
    agent = partial(Agent, instructions="Help.", tools=[book], chat_ctx=before)
    outcome = Stage(TurnSession, user=asks("nine"), llm=caller("nine"), agent=agent).run(10.0)
    assert [text for _, text in outputs(outcome.chat_ctx)] == ["full", "booked for nine"]
    assert request_problems(outcome.chat_ctx) == []


@pytest.mark.parametrize("server", [True, False], ids=["server", "session"])
def test_a_realtime_model_gets_each_result_under_its_own_id(server: bool) -> None:
    """The session has ids of its own; the model is told under the one that it gave."""
    hours = ("nine", "noon")
    stage = realtime(asks(*hours), caller(*hours), book, detects=server)
    outcome = stage.run(25.0)
    for context in (outcome.history, outcome.chat_ctx):
        assert [text for _, text in outputs(context)] == ["booked for nine", "booked for noon"]
        assert len(set(ids(context))) == 2
        assert request_problems(context) == []
    held = stage.llm.sessions[0].chat_ctx
    assert request_problems(held, realtime=True) == []
    assert outputs(held) == [("call_0", "booked for nine"), ("call_0", "booked for noon")]


def test_a_realtime_model_may_reuse_the_id_of_a_released_call() -> None:
    """Both results reach it; the first one as LiveKit tells a late one, with a call of its own."""
    user = ScriptedUser().says("nine", at=1.0).says("noon", at=4.0)
    stage = realtime(user, caller("nine", "noon", tool="slow"), slow, detects=False)
    outcome = stage.run(30.0)
    held = stage.llm.sessions[0].chat_ctx
    assert request_problems(held, realtime=True) == []
    given = [text for _, text in outputs(held)]
    assert given.count("booked for nine") == given.count("booked for noon") == 1
    assert len(ids(outcome.history)) == len(set(ids(outcome.history)))
