"""What a request contains, whatever the application's processors have made of it."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from hypothesis import given
from hypothesis import strategies as st
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.fsm import load_flow
from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import AnswerDue, ReplyAsked
from turnfsm.runtime.host.reply import Reply
from turnfsm.runtime.pipecat.requests import Names, call_message, edited, request

Messages = list[dict[str, Any]]

KINDS = ("user", "assistant", "developer", "call", "two calls")


def _conversation(kinds: Sequence[str]) -> Messages:
    messages: Messages = [{"role": "system", "content": "You are a clerk."}]
    for n, kind in enumerate(kinds):
        ids = {"call": [f"{n}"], "two calls": [f"{n}a", f"{n}b"]}.get(kind, [])
        if not ids:
            messages.append({"role": kind, "content": "yes" if n % 3 else f"{kind} {n}"})
            continue
        made = [call_message(id, "book", "{}") for id in ids]
        calls = [call for one in made for call in one["tool_calls"]]
        messages.append({"role": "assistant", "tool_calls": calls})
        messages += [{"role": "tool", "content": "booked", "tool_call_id": id} for id in ids]
    return [*messages, {"role": "user", "content": "the last one"}]


def _masked(messages: Messages, at: int) -> Messages:
    return [
        {**message, "content": "***"} if message["role"] == "user" else message
        for message in messages
    ]


NEW = {"role": "developer", "content": "a fact"}

EDITS: Sequence[Callable[[Messages, int], Messages]] = (
    lambda messages, at: deepcopy(messages),
    lambda messages, at: [*messages, {**NEW}],
    lambda messages, at: [*messages, {"role": "user", "content": "a question"}],
    lambda messages, at: [*messages[:-1], {**NEW}, *messages[-1:]],
    lambda messages, at: [{**NEW}, *messages],
    lambda messages, at: messages[at:],
    lambda messages, at: [*messages[:1], *messages[1 + at :]],
    lambda messages, at: [*messages[:at], *messages[at + 2 :]],
    lambda messages, at: messages[: len(messages) - at],
    lambda messages, at: [*messages[:-1], {"role": "user", "content": "in other words"}],
    _masked,
)


def _asked(messages: Messages, names: Names) -> tuple[Reply, Any]:
    """A reply that answers the user's last message, and what it needs of a conductor."""
    rules, last = load_flow("turn").agenda, names.of(messages[-1])
    agenda = Agenda().after(AnswerDue(last), rules).after(ReplyAsked("reply", [last]), rules)
    conductor = SimpleNamespace(
        log=SimpleNamespace(agenda=agenda),
        tools=SimpleNamespace(due_results={}, entries=lambda calls: []),
        requests=SimpleNamespace(sent=lambda *args, **options: None),
        host=SimpleNamespace(hint=lambda *args: None),
    )
    return Reply("reply", SimpleNamespace(conductor=conductor)), conductor


def _sent(before: Messages, after: Messages) -> Messages:
    """The request that follows when the application has made `after` of the conversation."""
    names, context = Names(), LLMContext(after)
    reply, conductor = _asked(before, names)
    added = names.follow(before, after)
    edits = edited(reply, context, added, before, names)
    return [*request(LLMContext(before), reply, conductor, names, [], edits).messages]


def _unpaired(messages: Messages) -> list[str]:
    """The calls that the results do not follow, and results without a call."""
    found, due = [], []
    for message in messages:
        if message["role"] != "tool":
            found += due
            due = [call["id"] for call in message.get("tool_calls") or ()]
        elif message["tool_call_id"] in due:
            due.remove(message["tool_call_id"])
        else:
            found.append(message["tool_call_id"])
    return found + due


EDITED = given(
    st.lists(st.sampled_from(KINDS), max_size=6),
    st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 5)), max_size=3),
)


@EDITED
def test_each_call_has_its_result(kinds: list[str], edits: list[Any]) -> None:
    before = after = _conversation(kinds)
    for edit, at in edits:
        after = edit(after, at)
    assert _unpaired(_sent(before, after)) == []


@EDITED
def test_it_is_what_they_have_passed_on_if_no_result_is_missing(
    kinds: list[str], edits: list[Any]
) -> None:
    before = after = _conversation(kinds)
    for edit, at in edits:
        after = edit(after, at)
    if not _unpaired(after):
        assert _sent(before, after) == after
