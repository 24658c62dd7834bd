"""The record of everything that was asked and that happened, with its verdict and its cause.

Entries are plain tuples in a bounded deque: making a typed value of each would cost more than the
decision itself. A typed `Entry` is built when somebody reads.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import attrs

from fsm import Flow, Machine, Program, Refused, Taken, TurnfsmError, Verdict

__all__ = [
    "Divergence",
    "Entry",
    "Journal",
    "JournalError",
    "JsonlSink",
    "Note",
    "Sink",
    "read_journal",
    "replay",
]

VERSION = 1

Raw = tuple[int, float, str, Any, int, Verdict | None, int | None, Any]
"""seq, t, trigger (or the note's kind), of, facts afterwards, verdict (None: note), cause, data."""


class JournalError(TurnfsmError):
    """A journal that cannot be read, or that a flow does not reproduce."""


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
    """Where records go as they happen."""

    def write(self, record: Mapping[str, Any]) -> None:
        """Take one record; must not raise for reasons of its own."""

    def close(self) -> None:
        """Nothing more will come."""


class Journal:
    """The last entries of one runtime, and the sinks that keep them all.

    Args:
        program: The flow's program, which gives the facts their names.
        maxlen: How many entries stay in memory.
        sinks: Each gets every record, as JSON has it.
    """

    __slots__ = ("_entries", "_sinks", "maxlen", "program", "seq", "started_at")

    def __init__(self, program: Program, maxlen: int = 4096, sinks: Iterable[Sink] = ()) -> None:
        self.program = program
        self.maxlen = maxlen
        self.seq = 0
        self.started_at = time.time()
        self._entries: deque[Raw] | None = None  # an empty deque is 0.75 kB: made when needed
        self._sinks = tuple(sinks)
        for sink in self._sinks:
            sink.write(self.header())

    def header(self) -> dict[str, Any]:
        """The first record: which flow this is the journal of, and when it began."""
        flow = self.program.flow
        names = {"flow": flow.name, "initial": flow.initial}
        return {"journal": VERSION, **names, "started_at": round(self.started_at, 3)}

    def append(
        self,
        t: float,
        trigger: str,
        of: Any,
        facts: int,
        verdict: Verdict | None,
        cause: int | None,
        data: Any,
    ) -> int:
        """Keep one entry; gives its number."""
        seq = self.seq = self.seq + 1
        if self._entries is None:
            self._entries = deque(maxlen=self.maxlen)
        raw = (seq, t, trigger, of, facts, verdict, cause, data)
        self._entries.append(raw)
        if self._sinks:
            self._emit(raw)
        return seq

    def note(self, t: float, kind: str, data: Mapping[str, Any]) -> int:
        """Keep something that is no trigger."""
        return self.append(t, kind, None, 0, None, None, data)

    def __len__(self) -> int:
        return len(self._entries or ())

    def __iter__(self) -> Iterator[Entry]:
        return (e for raw in tuple(self._entries or ()) if isinstance(e := self._typed(raw), Entry))

    def notes(self, kind: str | None = None) -> Iterator[Note]:
        """The notes, of one kind if named."""
        for raw in tuple(self._entries or ()):
            if raw[5] is None and kind in (None, raw[2]):
                yield self._typed(raw)  # type: ignore[misc]  # a raw without verdict is a note

    def records(self) -> Iterator[dict[str, Any]]:
        """Header, entries and notes, as a JSONL sink would have written them."""
        yield self.header()
        for raw in tuple(self._entries or ()):
            yield self._typed(raw).record()

    @property
    def refusals(self) -> Iterator[Entry]:
        """What was refused."""
        return (entry for entry in self if isinstance(entry.verdict, Refused))

    def close(self) -> None:
        """Close the sinks."""
        for sink in self._sinks:
            sink.close()

    def _typed(self, raw: Raw) -> Entry | Note:
        seq, t, trigger, of, facts, verdict, cause, data = raw
        if verdict is None:
            return Note(seq, t, trigger, data or {})
        return Entry(seq, t, trigger, of, self.program.names(facts), verdict, cause, data or {})

    def _emit(self, raw: Raw) -> None:
        record = self._typed(raw).record()
        for sink in self._sinks:
            sink.write(record)


class JsonlSink:
    """One JSON record a line, flushed as it happens, readable by its owner only.

    A disk that is full or a pipe that is closed ends the writing, not the conversation; `error`
    then says why.

    Args:
        path: A new file; an existing one is not written over.

    Raises:
        JournalError: The file exists or cannot be made.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.error: OSError | None = None
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            message = f"{self.path} exists; name a new file, a journal is never written over"
            raise JournalError(message) from None
        except OSError as exc:
            why = (exc.strerror or str(exc)).lower()
            raise JournalError(f"{self.path}: {why}; name a file that can be written") from None
        self._file: IO[str] | None = os.fdopen(descriptor, "w", encoding="utf-8")

    def write(self, record: Mapping[str, Any]) -> None:
        """Write one line."""
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            self._file.flush()
        except OSError as exc:
            self.error = exc
            self.close()

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as exc:
                self.error = self.error or exc


def read_journal(path: str | Path) -> tuple[list[dict[str, Any]], str | None]:
    """The whole records of a journal, and what was lost at its end, if anything.

    Raises:
        JournalError: The file cannot be read or is no journal.
    """
    try:
        blob = Path(path).read_bytes()
    except OSError as exc:
        why = (exc.strerror or str(exc)).lower()
        raise JournalError(f"{path}: {why}; name a journal") from None
    records: list[dict[str, Any]] = []
    lines = blob.split(b"\n")
    tail = lines.pop()
    for number, line in enumerate(lines, 1):
        records.append(_record(path, number, line))
    if records and "journal" not in records[0]:
        raise JournalError(f"{path}:1: not a journal; the first record must be its header")
    lost = f"{len(tail)} bytes of record {len(lines)} were cut off" if tail else None
    return records, lost


def _record(path: str | Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        raise JournalError(f"{path}:{number}: not JSON; a journal is one record a line") from None
    if not isinstance(record, dict):
        raise JournalError(f"{path}:{number}: not a record; a journal is one object a line")
    return record


@attrs.frozen
class Divergence:
    """Where a flow does not do what a journal says.

    Attributes:
        seq: The entry.
        expected: What the journal has: verdict, state and facts afterwards.
        got: What the flow gives.
    """

    seq: int
    trigger: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"entry {self.seq} ({self.trigger}): journal {self.expected}; flow {self.got}"


def replay(records: Iterable[Mapping[str, Any]], flow: Flow) -> Divergence | None:
    """Run a journal through a flow; None if every verdict, state and fact is reproduced.

    Raises:
        UnknownTrigger, UnknownName: The journal is of another flow.
    """
    machine = Machine(flow)
    given = set(flow.given)
    for record in records:
        if "trigger" not in record or record.get("reason") == "closed":
            continue
        facts = record["facts"]
        machine.give({name: name in facts for name in given})
        verdict = machine.step(record["trigger"], record["of"])
        got = _outcome("taken" if verdict else "refused", machine.state, _facts(machine))
        expected = _outcome(record["verdict"], record["dest"], facts)
        if got != expected:
            return Divergence(record["seq"], record["trigger"], expected, got)
    return None


def _facts(machine: Machine) -> tuple[str, ...]:
    return machine.program.names(machine.facts)


def _outcome(verdict: str, state: str, facts: Iterable[str]) -> str:
    return f"{verdict} -> {state} {{{', '.join(sorted(facts))}}}"
