"""One set of measurements for all that observes a session, equal to what its journal gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from turnfsm.fsm.journal import Entry, Note
from turnfsm.fsm.metrics import Follower, Value
from turnfsm.runtime.journal import LiveJournal

__all__ = ["Consumer", "Watch"]


class Consumer(Protocol):
    """Takes the records of a session, each with what it has completed.

    Attributes:
        measures: It wants to know what was completed.
    """

    measures: bool

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        """Take one record; None at the end. On the stack of who posts: quick, posts nothing."""


class Watch:
    """Listens to a journal for its consumers; without any it does nothing at all."""

    def __init__(self, journal: LiveJournal, consumers: Iterable[Consumer]) -> None:
        self._consumers = tuple(consumers)
        flow = journal.program.flow
        self._follower = Follower(flow.timers, initial=flow.initial)
        self._measures = any(consumer.measures for consumer in self._consumers)
        if self._consumers:
            journal.listen(self._heard)

    def end(self) -> None:
        """The session has closed."""
        values = self._follower.end() if self._measures else ()
        for consumer in self._consumers:
            consumer.take(None, values)
        self._consumers = ()

    def _heard(self, record: Entry | Note) -> None:
        values = self._follower.feed(record) if self._measures else ()
        for consumer in self._consumers:
            consumer.take(record, values)
