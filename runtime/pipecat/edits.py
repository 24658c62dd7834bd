"""What the application's processors before the model make of a request."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from typing import Any

import attrs
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.runtime.host.reply import Reply

__all__ = ["Edits", "Message", "calls_in", "counterparts", "role_of"]

Message = Any
"""A dict, or a message for one model only."""


@attrs.frozen
class Edits:
    """A request as the application's processors have passed it on.

    Attributes:
        reply: The reply that is requested.
        context: What they have passed on.
        messages: Its messages, each with whether the processors have added it.
        sent: The ids of the messages that need not be added: those that the processors got.
        utterance: The id of the last of them that is the user's, or None.
    """

    reply: Reply
    context: LLMContext
    messages: tuple[tuple[Message, bool], ...]
    sent: frozenset[str]
    utterance: str | None


def counterparts(sent: Sequence[Message], came: Sequence[Message]) -> list[Message | None]:
    """The message in `sent` that each message in `came` stands for, or None if it is new.

    A processor may pass on the messages themselves, copies, or others in their place. So the same
    message is matched first, then an equal one, then one of the same kind, each in order. If
    several fit, the last is matched.
    """
    found = _matched(sent[::-1], came[::-1], (id, repr, _kind))
    return found[::-1]


def _matched(
    sent: Sequence[Message],
    came: Sequence[Message],
    keys: Sequence[Callable[[Message], Hashable]],
) -> list[Message | None]:
    if not (sent and keys):
        return [None] * len(came)
    key, *weaker = keys
    found: list[Message | None] = []
    matcher = SequenceMatcher(None, [*map(key, sent)], [*map(key, came)], autojunk=False)
    for tag, first, end, first_came, end_came in matcher.get_opcodes():
        before, now = sent[first:end], came[first_came:end_came]
        found += before if tag == "equal" else _matched(before, now, weaker)
    return found


def _kind(message: Message) -> Hashable:
    if not isinstance(message, dict):
        return type(message).__name__
    return message.get("role"), message.get("tool_call_id"), (*calls_in(message),)


def role_of(message: Message) -> str | None:
    """The role of a message, or None."""
    return str(message["role"]) if isinstance(message, dict) else None


def calls_in(message: Message) -> list[str]:
    """The ids of the calls that an agent message makes."""
    if role_of(message) != "assistant":
        return []
    return [str(call["id"]) for call in message.get("tool_calls") or ()]
