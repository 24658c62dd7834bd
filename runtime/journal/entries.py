"""The journal in memory.

Entries are plain tuples in a bounded deque: making a typed value of each would cost more than the
decision itself. A typed `Entry` is built when somebody reads.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import attrs

from turnfsm.fsm import Program, Refused, Taken, Verdict
from turnfsm.fsm.machine import Configuration

__all__ = ["Entry", "Journal", "Note", "Raw", "Sink"]

VERSION = 1

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


@attrs.frozen
class Entry:
    """One trigger and what became of it.

    Attributes:
        seq: Its number, from 1.
        t: Seconds since the runtime was made.
        of: The step, turn or call that it belonged to.
        facts: The facts that were true afterwards.
        cause: The number of the entry whose effect posted this one.
        data: What the caller said about it.
    """

    seq: int
    t: float
    trigger: str
    of: Any
    facts: tuple[str, ...]
    verdict: Verdict
    cause: int | None
    data: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """The entry as JSON has it."""
        verdict = self.verdict
        record: dict[str, Any] = {"seq": self.seq, "t": round(self.t, 6), "trigger": self.trigger}
        record |= {"of": self.of, "state": verdict.source, "facts": list(self.facts)}
        if isinstance(verdict, Taken):
            record |= {"verdict": "taken", "dest": verdict.dest, "row": verdict.row}
            record |= {"actions": list(verdict.actions), "entered": verdict.entered}
        else:
            record |= {"verdict": "refused", "dest": verdict.source}
            record |= {"reason": verdict.reason, "why": verdict.why}
        return record | {"cause": self.cause, "data": dict(self.data)}


@attrs.frozen
class Note:
    """Something worth keeping that is no trigger: a transcript, a span of audio, a tool call."""

    seq: int
    t: float
    kind: str
    data: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """The note as JSON has it."""
        data = dict(self.data)
        return {"seq": self.seq, "t": round(self.t, 6), "note": self.kind, "data": data}


class Sink(Protocol):
    """Where records go as they happen. One that raises is logged and gets nothing more."""

    def write(self, record: Mapping[str, Any]) -> None:
        """Take one record; on the caller's stack, so it must be quick."""

    def close(self) -> None:
        """Nothing more will come."""


class Journal:
    """The last entries of one runtime, and the sinks that keep them all.

    Args:
        program: The flow's program, which gives the facts their names.
        maxlen: How many entries and notes stay in memory.
        sinks: Each gets every record, as JSON has it.

    Attributes:
        start: What the clock read at second 0.
        append: Keeps one `Raw`. Bound to what is needed: the deque's own method when there is no
            sink, so that keeping an entry calls no Python.
    """

    __slots__ = (
        "_entries", "_sinks", "append", "maxlen", "program", "seq", "start", "started_at",
    )  # fmt: skip

    append: Callable[[Raw], None]

    def __init__(self, program: Program, maxlen: int = 4096, sinks: Iterable[Sink] = ()) -> None:
        self.program = program
        self.maxlen = maxlen
        self.seq = 0
        self.start = 0.0
        self.started_at = time.time()
        self._entries: deque[Raw] | None = None  # an empty deque is 0.75 kB: made when needed
        self._sinks = tuple(sinks)
        self.append = self._begin
        if self._sinks:
            self._write(self._header())

    def header(self) -> dict[str, Any]:
        """The first record: which flow this is the journal of, when it began, and, where the
        beginning is no longer kept, the configuration that `replay` goes on from."""
        first = next((raw for raw in self._entries or () if raw[6] is not None), None)
        if first is None or first[0] == 1:
            return self._header()
        return {**self._header(), "snapshot": self._snapshot(first)}

    def shift(self, seconds: float) -> None:
        """The clock was replaced by one that reads this much more."""
        self.start += seconds
        if self._entries:
            moved = [(raw[0], raw[1] + seconds, *raw[2:]) for raw in self._entries]
            self._entries.clear()
            self._entries.extend(moved)

    def note(self, now: float, kind: str, data: Mapping[str, Any]) -> int:
        """Keep something that is no trigger; gives its number."""
        self.seq += 1
        self.append((self.seq, now, kind, None, None, None, None, None, data))
        return self.seq

    def __len__(self) -> int:
        return len(self._entries or ())

    def __iter__(self) -> Iterator[Entry]:
        return (entry for raw in self._kept() if isinstance(entry := self._typed(raw), Entry))

    def notes(self, kind: str | None = None) -> Iterator[Note]:
        """The notes, of one kind if named."""
        for raw in self._kept():
            note = self._typed(raw)
            if isinstance(note, Note) and kind in (None, note.kind):
                yield note

    def records(self) -> Iterator[dict[str, Any]]:
        """Header, entries and notes, as a sink would have got them."""
        yield self.header()
        for raw in self._kept():
            yield self._typed(raw).record()

    @property
    def refusals(self) -> Iterator[Entry]:
        """What was refused."""
        return (entry for entry in self if isinstance(entry.verdict, Refused))

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
        self._entries = deque((raw,), self.maxlen)
        self.append = self._emit if self._sinks else self._entries.append
        if self._sinks:
            self._write(self._typed(raw).record())

    def _emit(self, raw: Raw) -> None:
        self._entries.append(raw)  # type: ignore[union-attr]  # _begin has made it
        if self._sinks:
            self._write(self._typed(raw).record())

    def _write(self, record: Mapping[str, Any]) -> None:
        for sink in self._sinks:
            try:
                sink.write(record)
            except Exception:
                # A broken sink must not break the conversation (test_sinks).
                logger.exception("sink %r gets no more records", sink)
                self._sinks = tuple(other for other in self._sinks if other is not sink)

    def _header(self) -> dict[str, Any]:
        flow = self.program.flow
        names = {"flow": flow.name, "initial": flow.initial}
        return {"journal": VERSION, **names, "started_at": round(self.started_at, 3)}

    def _snapshot(self, raw: Raw) -> dict[str, Any]:
        """Where the machine was after the first entry that is kept."""
        after = raw[4]
        assert after is not None
        facts = list(self.program.names(after.facts))
        return {"seq": raw[0], "state": after.state, "facts": facts, "tokens": dict(raw[5] or {})}

    def _typed(self, raw: Raw) -> Entry | Note:
        seq, now, trigger, of, after, _tokens, verdict, cause, data = raw
        t = now - self.start
        if verdict is None or after is None:
            return Note(seq, t, trigger, data or {})
        facts = self.program.names(after.facts)
        return Entry(seq, t, trigger, of, facts, verdict, cause, data or {})
