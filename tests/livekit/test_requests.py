"""A context is judged as the model gets it: formatted for every provider, or held in order."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import llm

from turnfsm.testing import (
    REQUEST_FORMATS,
    formatted_request,
    realtime_request,
    request_problems,
)


def context(*items: str) -> llm.ChatContext:
    """A context of `role: text`, `call id` and `output id`, in this order."""
    made: list[llm.ChatItem] = []
    for item in items:
        kind, _, rest = item.partition(" ")
        if kind == "call":
            made.append(llm.FunctionCall(call_id=rest, name="book", arguments='{"at": 9}'))
        elif kind == "output":
            made.append(
                llm.FunctionCallOutput(call_id=rest, name="book", output="booked", is_error=False)
            )
        else:
            made.append(llm.ChatMessage(role=kind.rstrip(":"), content=[rest]))  # type: ignore[arg-type]
    return llm.ChatContext(made)


@pytest.mark.parametrize("format", REQUEST_FORMATS)
def test_every_format_is_read_into_the_same_entries(format: str) -> None:
    """Said words, calls with arguments, results: alike for each provider."""
    asked = context("user: a table", "assistant: wait", "call c1", "output c1", "user: thanks")
    assert [str(entry) for entry in formatted_request(asked, format)] == [
        "user: a table",
        "assistant: wait",
        'call c1 book({"at": 9})',
        "result c1: booked",
        "user: thanks",
    ]


def test_the_agents_words_between_a_call_and_its_result_are_nothing_to_a_model() -> None:
    """LiveKit puts both together when it formats a request; a realtime model has its own words."""
    split = context("user: a table", "call c1", "assistant: I book it", "output c1")
    assert request_problems(split) == []
    assert request_problems(split, realtime=True) == []


def test_a_result_behind_the_users_next_words_is_answered_in_their_place() -> None:
    """By a realtime model, whose order is what it has; a request is formatted."""
    late = context("user: a table", "call c1", "user: well", "output c1")
    assert request_problems(late) == []
    assert request_problems(late, realtime=True) == ["the result 'booked' (c1) comes after 'well'"]


def test_a_result_may_come_after_words_that_have_been_answered() -> None:
    """A realtime model goes on while a tool runs."""
    gone_on = context("user: a table", "call c1", "user: well", "assistant: wait", "output c1")
    assert request_problems(gone_on, realtime=True) == []


def test_a_result_without_its_call_is_none_of_a_realtime_conversation() -> None:
    """There is nothing that it answers."""
    assert request_problems(context("user: a", "output c1"), realtime=True) == [
        "the result 'booked' (c1) does not follow its call"
    ]


def test_a_call_without_a_result_is_left_out_of_a_request() -> None:
    """The model does not get it, and may make it again; a realtime model has it open."""
    running = context("user: a table", "call c1", "user: well")
    left = ['the request leaves out call c1 book({"at": 9})']
    assert request_problems(running) == left
    assert request_problems(running, realtime=True) == ["the call book (c1) has no result after it"]
    assert request_problems(running, realtime=True, running=["c1"]) == []


def test_a_result_without_its_call_is_left_out_of_a_request() -> None:
    """LiveKit drops it with a warning."""
    lost = context("user: a table", "output c1", "user: well")
    assert request_problems(lost) == ["the request leaves out result c1: booked"]


def test_an_id_that_comes_again_is_found_in_every_format() -> None:
    """LiveKit gives both results to the later call, and leaves the first one out."""
    twice = context("user: a", "call c", "output c", "user: b", "call c", "output c")
    assert request_problems(twice) == [
        "the result 'booked' (c) does not follow its call",
        'the request leaves out call c book({"at": 9})',
    ]


def test_a_problem_of_some_formats_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem that only one provider's format has is found and names the format."""
    formatted = llm.ChatContext.to_provider_format

    def without_results(self: llm.ChatContext, format: str, **how: Any) -> Any:
        messages, data = formatted(self, format, **how)
        return messages[: 2 if format == "aws" else None], data

    monkeypatch.setattr(llm.ChatContext, "to_provider_format", without_results)
    assert request_problems(context("user: a table", "call c1", "output c1")) == [
        "the call book (c1) has no result after it (for aws)",
        "the request leaves out result c1: booked (for aws)",
    ]


def test_arguments_that_are_no_json_are_shown_as_they_are() -> None:
    """A model may write anything; providers that want an object get an empty one."""
    broken = context("user: a", "call c", "output c")
    call = broken.items[1]
    assert call.type == "function_call"
    call.arguments = "{at: "
    assert realtime_request(broken)[1].text == "{at: "
    assert formatted_request(broken, "openai")[1].text == "{at: "
