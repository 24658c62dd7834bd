"""The argument of an action's method."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from turnfsm.fsm import Taken

__all__ = ["Event"]


class Event(tuple[Any, ...]):
    """The argument of an action's method: the transition that chose the action.

    Attributes:
        seq: The number of the entry in the journal.
        trigger: The trigger that was posted.
        of: The step, turn or call that the trigger belongs to, or None.
        verdict: The machine's answer.

    Example:
        >>> from turnfsm import TurnRuntime, parse_flow
        >>> flow, _ = parse_flow('''
        ... flow: door
        ... initial: shut
        ... requests: {open: May it be opened?}
        ... actions: {ring: Ring the bell.}
        ... states:
        ...   shut: {on: {open: {actions: ring}}}
        ... ''')
        >>> class Host:
        ...     def ring(self, event):
        ...         print(event.trigger, event.data["by"])
        >>> bool(TurnRuntime(flow, Host()).post("open", by="guest"))
        open guest
        True
    """

    __slots__ = ()

    # Copying the journal's raw tuple costs half as much as wrapping it.
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
        """What the caller passed along with the trigger."""
        return self[8] or {}

    def __repr__(self) -> str:
        return f"<Event {self.seq}: {self.verdict}>"
