"""What a model believes that it still has to do: it repeats a call that its request does not
show."""

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
    """What the user has asked for, and which of the resulting calls the model cannot see.

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
        self, shown: Sequence[RequestEntry], made: Iterable[Call], *, offered: Collection[str]
    ) -> tuple[Call, ...]:
        """The calls that it makes now: `made`, and the missing ones.

        Args:
            shown: The request as the model gets it.
            made: The calls of the script's answer.
            offered: The names of the tools that the request offers; no other tool is called again.
        """
        made = tuple(made)
        now = Counter((call.name, _sorted(dict(call.arguments))) for call in made)
        results = {entry.id: entry.text for entry in shown if entry.kind == "result"}
        done = Counter(
            (entry.name, _sorted(entry.text))
            for entry in shown
            if entry.kind == "call" and not self._undone(results.get(entry.id, ""))
        )
        asked = [entry.text for entry in shown if entry.kind == "user"]
        if asked and now:
            before = done if shown[-1].kind == "result" else Counter[Key]()  # the same once more
            again = Counter({key: count + before[key] for key, count in now.items()})
            self._wanted[asked[-1]] = self._wanted.get(asked[-1], Counter()) | again
        wanted: Counter[Key] = Counter()
        for text, times in Counter(asked).items():
            for key, each in self._wanted.get(text, Counter()).items():
                wanted[key] += times * each
        missing = (wanted - done - now).elements()
        return (*made, *(Call(name, json.loads(of)) for name, of in missing if name in offered))

    def _undone(self, output: str) -> bool:
        return bool(self._retries) and self._retries in output


def _sorted(arguments: Any) -> str:
    """However they are written."""
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    return json.dumps(given, sort_keys=True, default=str)
