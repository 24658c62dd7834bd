"""What an effect is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsm import Taken

from .journal import Raw

__all__ = ["Event"]


class Event:
    """The transition that chose an effect.

    Attributes:
        seq: The entry's number in the journal.
    """

    __slots__ = ("_raw", "seq")

    def __init__(self, raw: Raw) -> None:
        self._raw = raw  # as the journal has it: most effects read nothing
        self.seq = raw[0]

    @property
    def trigger(self) -> str:
        """What was posted."""
        return self._raw[2]

    @property
    def of(self) -> Any:
        """The step, turn or call that the trigger belongs to."""
        return self._raw[3]

    @property
    def verdict(self) -> Taken:
        """The machine's answer."""
        return self._raw[6]  # type: ignore[return-value]  # only what is taken has effects

    @property
    def data(self) -> Mapping[str, Any]:
        """What the caller said about it."""
        return self._raw[8] or {}

    def __repr__(self) -> str:
        return f"<Event {self.seq}: {self.verdict}>"
