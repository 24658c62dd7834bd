"""What an effect is told."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from turnfsm.fsm import Taken

__all__ = ["Event"]


class Event(tuple[Any, ...]):
    """The transition that chose an effect: a view of the journal's entry.

    Attributes:
        seq: The entry's number in the journal.
        trigger: What was posted.
        of: The step, turn or call that the trigger belongs to.
        verdict: The machine's answer.
    """

    __slots__ = ()

    # A copy of the journal's raw tuple is half the price of an object that holds it.
    if TYPE_CHECKING:
        seq: int
        trigger: str
        of: Any
        verdict: Taken
    else:
        seq = property(itemgetter(0))
        trigger = property(itemgetter(2))
        of = property(itemgetter(3))
        verdict = property(itemgetter(6))

    @property
    def data(self) -> Mapping[str, Any]:
        """What the caller said about it."""
        return self[8] or {}

    def __repr__(self) -> str:
        return f"<Event {self.seq}: {self.verdict}>"
