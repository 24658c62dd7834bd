"""Gives each tool call an id of its own: a model may use the same id twice."""

from __future__ import annotations

from collections.abc import Container

__all__ = ["CallIds"]

UNDER_WAY = 256
"""The most calls that have not begun yet and are not in the conversation yet."""


class CallIds:
    """The ids of a session's calls.

    If the model's id is free, it is kept: some providers use it to find more about the call.
    """

    def __init__(self) -> None:
        self._own: dict[str, str] = {}

    def known(self, item: str) -> str | None:
        """The id that the call of this item has got; None if it has none yet."""
        return self._own.get(item)

    def own(self, item: str, given: str, *used: Container[str]) -> str:
        """The id of a call. It is the same each time, as long as the call is under way.

        Args:
            item: The id of the call's item, which no other call has.
            given: The id that the model gave.
            used: The ids of all other calls that are in a conversation or have begun.
        """
        if self.known(item) is None:
            id, number = given, 1
            while id in self._own.values() or any(id in ids for ids in used):
                number += 1
                id = f"{given}_{number}"
            self._own[item] = id
            if len(self._own) > UNDER_WAY:
                del self._own[next(iter(self._own))]
        return self._own[item]
