"""Tool calls have ids of their own; a model may give an id again, in a later turn or at once."""

from __future__ import annotations

from collections.abc import Container

__all__ = ["CallIds"]

UNDER_WAY = 256
"""More calls than this have not begun and are not in the conversation yet: never."""


class CallIds:
    """The ids of a session's calls. An id that is free stays as the model gave it: some providers
    find more by it."""

    def __init__(self) -> None:
        self._own: dict[str, str] = {}

    def own(self, item: str, given: str, *used: Container[str]) -> str:
        """The id of a call, the same whenever it is asked for while the call is under way.

        Args:
            item: What tells this call from all others: the id of its item.
            given: What the model calls it.
            used: The ids of all other calls that stand in a conversation or have begun.
        """
        if item not in self._own:
            id, number = given, 1
            while id in self._own.values() or any(id in ids for ids in used):
                number += 1
                id = f"{given}_{number}"
            self._own[item] = id
            if len(self._own) > UNDER_WAY:
                del self._own[next(iter(self._own))]
        return self._own[item]
