"""A request as each provider gets it, of every small conversation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from livekit.agents import llm
from talks import MOVES, Talk, played, talks

from turnfsm.fsm.agenda.projection import Item
from turnfsm.runtime.testing.livekit.requests import (
    REQUEST_FORMATS,
    formatted_request,
    request_problems,
)


def _context(items: tuple[Item, ...]) -> llm.ChatContext:
    made: list[llm.ChatItem] = []
    for item in items:
        if item.part == "call":
            made.append(llm.FunctionCall(call_id=item.call, name="book", arguments="{}"))
        elif item.part == "result":
            made.append(
                llm.FunctionCallOutput(call_id=item.call, name="", output=item.id, is_error=False)
            )
        else:
            role = "user" if item.part == "utterance" else "assistant"
            made.append(llm.ChatMessage(role=role, content=[item.id]))  # type: ignore[arg-type]
    return llm.ChatContext(made)


def _problems(talk: Talk) -> list[str]:
    assert talk.sent is not None
    items = talk.sent[1].items
    context = _context(items)
    found = request_problems(context)
    for format in REQUEST_FORMATS:
        entries = formatted_request(context, format)
        if [entry.kind for entry in entries] != [_KINDS[item.part] for item in items]:
            found.append(f"{format} has another order: {entries}")
    return found


_KINDS = {"utterance": "user", "said": "assistant", "call": "call", "result": "result"}


def test_every_provider_gets_the_items_in_their_order() -> None:
    """Two replies, two calls, seven moves."""
    for talk in talks(7):
        assert _problems(talk) == [], talk


@given(st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 5)), max_size=40))
def test_every_provider_gets_a_long_conversation_in_its_order(
    moves: list[tuple[object, int]],
) -> None:
    for talk in played(moves):  # type: ignore[arg-type]
        assert _problems(talk) == []
