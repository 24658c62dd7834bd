"""The journal of a running runtime.

Entries are plain tuples in a bounded deque: a typed value for each would cost more than the
decision itself. A typed `Entry` is built when somebody reads.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, Protocol

from turnfsm.fsm import Program, Verdict
from turnfsm.fsm.journal import Entry, Header, Journal, Note, Snapshot
from turnfsm.fsm.machine import Configuration

__all__ = ["Listener", "LiveJournal", "Raw", "Sink"]

logger = logging.getLogger("turnfsm")

Raw = tuple[
    int,
    float,
    str,
    Any,
    Configuration | None,
    Mapping[str, Any] | None,
    Verdict | None,
    int | None,
    Mapping[str, Any] | None,
]
"""seq, the clock's reading, trigger (or the note's kind), of, configuration and tokens afterwards,
verdict (None: a note), cause, data."""


Listener = Callable[[Raw], None]
"""Called with each raw record; `LiveJournal.typed` converts it."""


class Sink(Protocol):
    """Gets records as they happen. A sink that raises is logged and gets no more."""

    def write(self, record: Mapping[str, Any]) -> None:
        """Take one record. Called inside `post`, so it must be fast."""

    def close(self) -> None:
        """The session has ended. If it is restarted, `write` gets a new header first."""


class LiveJournal:
    """The journal of a running conversation: the latest entries in memory, and sinks that get all
    of them.

    Args:
        program: The flow's program, which gives the facts their names.
        maxlen: How many entries and notes to keep in memory.
        sinks: Each gets every record as a JSON object.
        timers: Seconds that override those of the flow.

    Attributes:
        start: The clock's reading at second 0.
        append: Stores one `Raw`. Without a sink this is the deque's own method, which is faster.

    Example:
        >>> from turnfsm import LiveJournal, compile_flow, load_flow
        >>> journal = LiveJournal(compile_flow(load_flow("turn")), maxlen=100)
        >>> journal.read().header.flow
        'turn'
    """

    __slots__ = (
        "_entries", "_fresh", "_listeners", "_sinks", "_timers", "_wake", "append", "maxlen",
        "program", "seq", "start", "started_at",
    )  # fmt: skip

    append: Callable[[Raw], None]

    def __init__(
        self,
        program: Program,
        maxlen: int = 4096,
        sinks: Iterable[Sink] = (),
        timers: Mapping[str, float] | None = None,
    ) -> None:
        self.program = program
        self.maxlen = maxlen
        self.seq = 0
        self.start = 0.0
        self.started_at = time.time()
        self._entries: deque[Raw] | None = None  # takes 0.75 kB: created on first use
        self._sinks = tuple(sinks)
        self._listeners: tuple[Listener, ...] = ()
        self._timers = timers
        self._fresh: list[Raw] = []
        self._wake: Callable[[], None] | None = None
        self.append = self._begin
        if self._sinks:
            self._write(self.header().to_json())

    def shift(self, seconds: float) -> None:
        """The clock was replaced by one that is ahead by this many seconds."""
        self.start += seconds
        if self._entries:
            moved = [_shifted(raw, seconds) for raw in self._entries]
            self._entries.clear()
            self._entries.extend(moved)
        self._fresh = [_shifted(raw, seconds) for raw in self._fresh]

    # -- for a reader that works in batches

    def tap(self, wake: Callable[[], None] | None) -> None:
        """Collect the current and all future records for `drain`.

        Args:
            wake: Called with the first record after each `drain`. None: the reader has gone, and
                nothing is collected.
        """
        self._wake = wake
        self._fresh = [] if wake is None else [*(self._entries or ())]
        self._pass_all_on()

    def drain(self) -> list[Raw]:
        """The records since the last `drain`."""
        fresh, self._fresh = self._fresh, []
        return fresh

    @property
    def waiting(self) -> bool:
        """There are records since the last `drain`."""
        return bool(self._fresh)

    # -- reading

    def typed(self, raw: Raw) -> Entry | Note:
        """The `Entry` or `Note` of a raw record. Thread-safe."""
        seq, now, trigger, of, after, _tokens, verdict, cause, data = raw
        t = now - self.start
        if verdict is None or after is None:
            return Note(seq, t, trigger, data or {})
        facts = self.program.names(after.facts)
        return Entry(seq, t, trigger, of, facts, verdict, cause, data or {})

    def header(self, snapshot: Snapshot | None = None) -> Header:
        """The header of the whole journal, or of the part after a snapshot."""
        flow = self.program.flow
        timers = {**flow.timers, **(self._timers or {})}
        return Header(flow.name, flow.initial, round(self.started_at, 3), snapshot, None, timers)

    def listen(self, listener: Listener) -> None:
        """Call a listener with every record from now on.

        It is called inside `post`: it must be quick and must not post. A listener that raises is
        logged and removed.
        """
        self._listeners = (*self._listeners, listener)
        self._pass_all_on()

    def note(self, now: float, kind: str, data: Mapping[str, Any]) -> int:
        """Add a note.

        Returns:
            Its number.
        """
        self.seq += 1
        self.append((self.seq, now, kind, None, None, None, None, None, data))
        return self.seq

    def since(self, seq: int) -> list[Raw]:
        """The records after a number that are still in memory."""
        found = [*takewhile(lambda raw: raw[0] > seq, reversed(self._entries or ()))]
        found.reverse()
        return found

    def __len__(self) -> int:
        return len(self._entries or ())

    def __iter__(self) -> Iterator[Entry]:
        return (entry for raw in self._kept() if isinstance(entry := self.typed(raw), Entry))

    def notes(self, kind: str | None = None) -> Iterator[Note]:
        """The notes; with `kind` only those of that kind."""
        for raw in self._kept():
            note = self.typed(raw)
            if isinstance(note, Note) and kind in (None, note.kind):
                yield note

    def read(self) -> Journal:
        """An immutable copy of the records in memory.

        If the first entries were dropped, the header has the configuration at which `replay`
        begins.
        """
        kept = self._kept()
        first = next((raw for raw in kept if raw[6] is not None), None)
        whole = first is None or kept[0][0] == 1
        snapshot = None if first is None or whole else self._snapshot(first)
        return Journal(self.header(snapshot), tuple(self.typed(raw) for raw in kept))

    @property
    def refusals(self) -> Iterator[Entry]:
        """The refused triggers, as `Entry.refused`."""
        return (entry for entry in self if entry.refused(self.program.flow.timers))

    def close(self) -> None:
        """Close the sinks."""
        sinks, self._sinks = self._sinks, ()
        for sink in sinks:
            try:
                sink.close()
            except Exception:
                logger.exception("sink %r cannot be closed", sink)

    def _kept(self) -> tuple[Raw, ...]:
        return tuple(self._entries or ())

    def _begin(self, raw: Raw) -> None:
        self._entries = deque(maxlen=self.maxlen)
        self.append = self._entries.append
        if self._sinks or self._listeners or self._wake is not None:
            self._pass_all_on()
        self.append(raw)

    def _pass_all_on(self) -> None:
        if self._entries is not None:
            self.append = self._emit

    def _emit(self, raw: Raw) -> None:
        self._entries.append(raw)  # type: ignore[union-attr]  # _begin has made it
        if self._sinks:
            self._write(self.typed(raw).to_json())
        for listener in self._listeners:
            try:
                listener(raw)
            except Exception:  # as a sink: it must not break the conversation
                logger.exception("%r gets no more records", listener)
                self._listeners = tuple(o for o in self._listeners if o is not listener)
        if self._wake is not None:
            self._fresh.append(raw)
            if len(self._fresh) == 1:
                self._wake()

    def _write(self, record: Mapping[str, Any]) -> None:
        for sink in self._sinks:
            try:
                sink.write(record)
            except Exception:
                # A broken sink must not break the conversation (test_sinks).
                logger.exception("sink %r gets no more records", sink)
                self._sinks = tuple(other for other in self._sinks if other is not sink)

    def _snapshot(self, raw: Raw) -> Snapshot:
        """The machine's configuration after the first entry in memory."""
        seq, _t, _trigger, _of, after, tokens, *_ = raw
        assert after is not None
        return Snapshot(seq, after.state, self.program.names(after.facts), dict(tokens or {}))


def _shifted(raw: Raw, seconds: float) -> Raw:
    seq, now, *rest = raw
    return (seq, now + seconds, *rest)
