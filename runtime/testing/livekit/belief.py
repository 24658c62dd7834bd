"""Repeats a call of the model that its request does not show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs

from .requests import RequestEntry

__all__ = ["Belief", "Call"]

Key = tuple[str, str]
"""A tool's name and its arguments, as JSON with sorted keys."""


@attrs.frozen
class Call:
    """A tool call that the model makes.

    Attributes:
        name: The tool.
        arguments: By name.

    Example:
        >>> from turnfsm.testing import Call, Reply
        >>> reply = Reply("One moment.", Call("book_table", {"time": "eight"}))
    """

    name: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)


class Belief:
    """The calls that the user has requested, and those that the model cannot see.

    If a request shows a message of the user but not the calls that the model made for it, with
    their results, the model makes them again. A realtime model sees its calls before their results,
    and does not repeat those.

    Args:
        retries: An output with this text says that its call had no effect; the model repeats it.
    """

    def __init__(self, *, retries: str = "") -> None:
        self._wanted: dict[str, Counter[Key]] = {}
        self._retries = retries

    def calls(
        self, entries: Sequence[RequestEntry], scripted: Iterable[Call], *, offered: Collection[str]
    ) -> tuple[Call, ...]:
        """The calls that it makes now: `scripted`, and the missing ones.

        Args:
            entries: The request as the model gets it.
            scripted: The calls of the script's answer.
            offered: The names of the tools that the request offers; no other tool is called again.
        """
        scripted = tuple(scripted)
        now = Counter((call.name, _sorted(dict(call.arguments))) for call in scripted)
        results = {entry.id: entry.text for entry in entries if entry.kind == "result"}
        done = Counter(
            (entry.name, _sorted(entry.text))
            for entry in entries
            if entry.kind == "call" and not self._undone(results.get(entry.id, ""))
        )
        messages = [entry.text for entry in entries if entry.kind == "user"]
        if messages and now:
            before = done if entries[-1].kind == "result" else Counter[Key]()  # the same once more
            again = Counter({key: count + before[key] for key, count in now.items()})
            self._wanted[messages[-1]] = self._wanted.get(messages[-1], Counter()) | again
        wanted: Counter[Key] = Counter()
        for text, times in Counter(messages).items():
            for key, each in self._wanted.get(text, Counter()).items():
                wanted[key] += times * each
        missing = (wanted - done - now).elements()
        return (*scripted, *(Call(name, json.loads(of)) for name, of in missing if name in offered))

    def _undone(self, output: str) -> bool:
        return bool(self._retries) and self._retries in output


def _sorted(arguments: Any) -> str:
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    return json.dumps(given, sort_keys=True, default=str)
