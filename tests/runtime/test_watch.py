"""What observes a session reads its journal now and then, and misses nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from turnfsm import EventPump, LiveJournal, Machine, load_flow
from turnfsm.fsm.journal import Entry, Note
from turnfsm.fsm.metrics.values import Value
from turnfsm.runtime.observe import Watch


class Taker:
    """A consumer that remembers the numbers of the records."""

    measures = True
    late = 10.0

    def __init__(self) -> None:
        self.seqs: list[int | None] = []

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        self.seqs.append(None if record is None else record.seq)


class Fails(Taker):
    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        raise ValueError("full")


def pump_of(maxlen: int = 100) -> EventPump:
    machine = Machine(load_flow("turn"))
    return EventPump(machine, object(), LiveJournal(machine.program, maxlen))


async def test_each_record_is_delivered_once_and_the_end_last() -> None:
    """Those from before are not."""
    pump = pump_of()
    pump.post("user_started_speaking")
    taker = Taker()
    watch = Watch(pump.journal, [taker])
    pump.post("user_stopped_speaking")
    pump.journal.note(1.0, "said", {})
    assert taker.seqs == []  # a record costs nothing when it is kept
    watch.end()
    assert taker.seqs == [2, 3, None]


async def test_a_consumer_that_fails_gets_no_more_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged once."""
    pump = pump_of()
    taker = Taker()
    watch = Watch(pump.journal, [Fails(), taker])
    pump.post("user_started_speaking")
    with caplog.at_level(logging.ERROR, "turnfsm"):
        watch.end()
    assert taker.seqs == [1, None]
    assert len(caplog.records) == 1


async def test_records_that_are_gone_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """More came at once than a journal keeps."""
    pump = pump_of(4)
    taker = Taker()
    watch = Watch(pump.journal, [taker])
    for _ in range(10):
        pump.post("user_started_speaking")
    watch.end()
    assert taker.seqs == [7, 8, 9, 10, None]
    assert "6 records came at once and are missing in the figures" in caplog.text
