"""Measures a session once for all its observers. Its journal gives the same figures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from turnfsm.fsm.journal import Entry, Note
from turnfsm.runtime.journal import LiveJournal

if TYPE_CHECKING:
    from turnfsm.fsm.metrics.measuring import Measuring
    from turnfsm.fsm.metrics.values import Value

__all__ = ["Consumer", "Watch"]

logger = logging.getLogger("turnfsm")


class Consumer(Protocol):
    """Takes the records of a session, each with the values that it completes.

    Attributes:
        measures: It needs the values.
        late: The maximum delay of a record, in seconds.
    """

    measures: bool
    late: float

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        """Take one record; None at the end."""


class Watch:
    """Reads a journal for its consumers. Without them it does nothing. An event loop must be
    running.

    Consumers get records in batches, so that posts stay fast. Processing each record at once would
    take several times as long, because LiveKit's code runs in between.
    """

    def __init__(self, journal: LiveJournal, consumers: Iterable[Consumer]) -> None:
        self._journal = journal
        self._consumers = tuple(consumers)
        self._values = self._measuring()
        self._seq = journal.seq
        self._due: asyncio.TimerHandle | None = None
        if self._consumers:
            self._late = min(consumer.late for consumer in self._consumers)
            self._look()

    def end(self) -> None:
        """The session has closed."""
        if self._due is not None:
            self._due.cancel()
            self._catch_up()
            self._give([(None, self._values.end() if self._values else ())])
            self._due = None

    def _measuring(self) -> Measuring | None:
        if not any(consumer.measures for consumer in self._consumers):
            return None
        from turnfsm.fsm.metrics.measuring import Measuring

        flow = self._journal.program.flow
        return Measuring(flow.timers, initial=flow.initial)

    def _look(self) -> None:
        self._due = asyncio.get_running_loop().call_later(self._late, self._look)
        self._catch_up()

    def _catch_up(self) -> None:
        journal, values = self._journal, self._values
        if journal.seq == self._seq:
            return
        fed: list[tuple[Entry | Note | None, Sequence[Value]]] = []
        for raw in journal.since(self._seq):
            record = journal.typed(raw)
            fed.append((record, values.feed(record) if values else ()))
        missed = journal.seq - self._seq - len(fed)
        if missed:
            logger.warning("%d records came at once and are missing in the figures", missed)
        self._seq = journal.seq
        self._give(fed)

    def _give(self, fed: Iterable[tuple[Entry | Note | None, Sequence[Value]]]) -> None:
        for consumer in self._consumers:
            try:
                for record, values in fed:
                    consumer.take(record, values)
            except Exception:  # it must not break the conversation
                logger.exception("%r gets no more records", consumer)
                self._consumers = tuple(o for o in self._consumers if o is not consumer)
