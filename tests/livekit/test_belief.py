"""A scripted model believes its context: what it is not shown, it takes for not done."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import llm
from scripted_tool import tool

from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM

pytestmark = pytest.mark.usefixtures("virtual_time")


book = tool("book", "booked")


def model(**options: Any) -> ScriptedLLM:
    """It books when it is asked for a table."""
    return ScriptedLLM({"table": Reply("At once.", calls=Call("book"))}, **options)


def conversation(*lines: str) -> llm.ChatContext:
    """`user: words`, `call ID`, `output ID words`."""
    ctx = llm.ChatContext.empty()
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "call":
            ctx.items.append(llm.FunctionCall(call_id=rest, name="book", arguments="{}"))
        elif kind == "output":
            call_id, _, text = rest.partition(" ")
            ctx.items.append(
                llm.FunctionCallOutput(call_id=call_id, name="book", output=text, is_error=False)
            )
        else:
            ctx.add_message(role="user", content=rest)
    return ctx


def called(model: ScriptedLLM, *lines: str, realtime: bool = False) -> list[str]:
    """The calls that the model makes when it is shown these lines."""
    _, reply = model.ask(conversation(*lines), [book], realtime=realtime)
    return [call.name for call in reply.calls]


async def test_a_call_that_is_not_shown_is_made_again() -> None:
    """The request after it shows the question and neither call nor result."""
    scripted = model()
    assert called(scripted, "user: a table") == ["book"]
    assert called(scripted, "user: a table", "user: hello") == ["book"]


async def test_a_call_that_is_shown_with_its_result_is_not_made_again() -> None:
    """Wherever it stands."""
    scripted = model()
    called(scripted, "user: a table")
    assert called(scripted, "user: a table", "call 1", "output 1 booked", "user: hello") == []
    assert called(scripted, "user: a table", "call 1", "user: hello", "output 1 booked") == []


async def test_a_provider_is_not_shown_a_call_without_its_result() -> None:
    """LiveKit leaves it out of what it sends; a realtime model has the item."""
    scripted = model()
    called(scripted, "user: a table")
    lines = ("user: a table", "call 1", "user: hello")
    assert called(scripted, *lines) == ["book"]
    assert called(scripted, *lines, realtime=True) == []


async def test_what_was_not_done_is_done_by_a_model_that_retries() -> None:
    """The test says by which text it knows; others are left alone."""
    lines = ("user: a table", "call 1", "output 1 no: nothing was done", "user: hello")
    for retries, times in (("", 0), ("nothing was done", 1), ("it failed", 0)):
        scripted = model(retries=retries)
        called(scripted, "user: a table")
        assert called(scripted, *lines) == ["book"] * times


async def test_a_realtime_model_that_is_given_instructions_answers_the_words_before_them() -> None:
    """Unless something stands between them."""
    for lines, calls in ((), ["book"]), (("call 1", "output 1 booked"), []):
        context = conversation("user: a table", *lines)
        context.add_message(role="developer", content="remember the result")
        _, reply = model().ask(context, [book], realtime=True)
        assert [call.name for call in reply.calls] == calls


async def test_two_questions_want_two_calls() -> None:
    """One is shown, so one is missing."""
    scripted = model()
    called(scripted, "user: a table")
    lines = ("user: a table", "call 1", "output 1 booked", "user: a table")
    assert called(scripted, *lines) == ["book"]
    assert called(scripted, *lines, "user: hello") == ["book"]
    assert called(scripted, *lines, "call 2", "output 2 booked", "user: hello") == []


async def test_a_missing_call_is_made_beside_the_same_call_for_a_new_question() -> None:
    """Two other questions want the same call, and a reply was cut before it had made the first."""
    scripted = model()
    called(scripted, "user: a table")
    assert called(scripted, "user: a table", "user: a table for two") == ["book", "book"]
    lines = ("user: a table", "user: a table for two", "call 1", "output 1 booked")
    assert called(scripted, *lines, "call 2", "output 2 booked", "user: hello") == []


async def test_a_tool_that_is_not_offered_is_not_called_again() -> None:
    """Another agent has taken over."""
    scripted = model()
    called(scripted, "user: a table")
    _, reply = scripted.ask(conversation("user: a table", "user: hello"), [])
    assert reply.calls == ()


async def test_a_model_that_does_not_believe_keeps_to_its_rules() -> None:
    """For a test that needs nothing else."""
    scripted = model(believes=False)
    called(scripted, "user: a table")
    assert called(scripted, "user: a table", "user: hello") == []
