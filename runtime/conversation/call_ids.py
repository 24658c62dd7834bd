"""Gives each tool call a unique id, since a model may use the same id twice."""

from __future__ import annotations

from collections.abc import Container

__all__ = ["CallIds"]

UNDER_WAY = 256
"""How many calls to remember before they begin or enter the conversation."""


class CallIds:
    """The ids of a session's calls.

    A model's id is used unchanged unless it is taken: some providers look up calls by it.
    """

    def __init__(self) -> None:
        self._own: dict[str, str] = {}

    def known(self, item: str) -> str | None:
        """The id assigned to this item's call; None if there is none yet."""
        return self._own.get(item)

    def taken(self, id: str, *used: Container[str]) -> bool:
        """Whether one of these, or a running call, has this id."""
        return id in self._own.values() or any(id in ids for ids in used)

    def own(self, item: str, given: str, *used: Container[str]) -> str:
        """The id of a call. It stays the same while the call is running.

        Args:
            item: The id of the call's chat item, which is unique.
            given: The id that the model gave.
            used: The ids of all other calls that are in a conversation or have begun.
        """
        if self.known(item) is None:
            id, number = given, 1
            while self.taken(id, *used):
                number += 1
                id = f"{given}_{number}"
            self._own[item] = id
            if len(self._own) > UNDER_WAY:
                del self._own[next(iter(self._own))]
        return self._own[item]
