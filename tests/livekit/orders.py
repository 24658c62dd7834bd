"""A model that follows to the letter whatever it reads.

It knows none of the texts of a session. It knows what an order looks like in English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from turnfsm.runtime.testing.livekit import Call, Reply, Request, ScriptedLLM
from turnfsm.runtime.testing.livekit.requests import RequestEntry

__all__ = ["Obedient", "Order", "orders_in"]

_SENTENCE = re.compile(r"[.!?;:\n]+\s*|,?\s+(?:and|but|so|or)\s+")
_FORBIDS = re.compile(
    r"\b(do not|don't|never|must not|mustn't|may not|cannot|should not|shouldn't|need not"
    r"|no need to|not necessary to|avoid|refrain|leave|skip)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(please\s+)?(now\s+)?(make|call|run|try|retry|repeat|redo|do)\b", re.IGNORECASE
)
_ACTS = re.compile(
    r"\b(call|calls|calling|make|making|run|running|try|trying|retry|repeat|repeating|redo|again"
    r"|twice|tool|tools|function|invoke|use|using|act|answer|respond|that out|it out|them out)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^(the|this|that|its?|what|an?|another|his|her|their|they|he|she)\b", re.IGNORECASE
)


@attrs.frozen
class Order:
    """Something that a text tells a model to do about calls.

    Attributes:
        text: The sentence.
        forbids: It is not to make them; otherwise it is to make them again.
    """

    text: str
    forbids: bool


def orders_in(text: str) -> Iterator[Order]:
    """The orders about calls in a text. What a statement says of a call, or what it tells a model
    to say, is none."""
    for part in _SENTENCE.split(text):
        if _SUBJECT.match(part):  # it states something
            continue
        if _FORBIDS.search(part) and _ACTS.search(part):
            yield Order(part, forbids=True)
        elif _ASKS.search(part):
            yield Order(part, forbids=False)


class Obedient(ScriptedLLM):
    """Does what it is told in any text that is not the user's and not its own."""

    def ask(self, *context: Any, **how: Any) -> tuple[Request, Reply]:
        request, reply = super().ask(*context, **how)
        calls = list(reply.calls)
        for order, about in _orders(request.shown):
            if order.forbids:
                calls = [call for call in calls if about and call.name not in about]  # or none
            else:
                calls += [call for call in _made(request.shown) if call.name in about]
        return request, attrs.evolve(reply, calls=calls)


def _orders(shown: Iterable[RequestEntry]) -> Iterator[tuple[Order, frozenset[str]]]:
    """The orders of a request, each with the tools that its text is about; none: about all."""
    shown = tuple(shown)
    names = {entry.id: entry.name for entry in shown if entry.kind == "call"}
    for entry in shown:
        if entry.kind in ("system", "result"):
            about = {name for name in names.values() if re.search(rf"\b{name}\b", entry.text)}
            about |= {names[entry.id]} if entry.kind == "result" and entry.id in names else set()
            for order in orders_in(entry.text):
                yield order, frozenset(about)


def _made(shown: Iterable[RequestEntry]) -> Iterator[Call]:
    """The calls that a request shows, each of them once."""
    seen = {(entry.name, entry.text) for entry in shown if entry.kind == "call"}
    for name, arguments in sorted(seen):
        yield Call(name, json.loads(arguments or "{}"))
