"""The parts of a journal: a header, entries and notes; and the error of reading one."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import attrs

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import NEVER
from turnfsm.fsm.verdicts import Refused, Taken, Verdict

__all__ = ["VERSION", "Entry", "Header", "Journal", "JournalError", "Note", "Record", "Snapshot"]


class JournalError(TurnfsmError):
    """A journal cannot be read or written. The message names the file and the line."""


VERSION = 1


@attrs.frozen
class Entry:
    """One trigger and the decision on it.

    Attributes:
        seq: Its number, from 1; entries and notes are counted together.
        t: Seconds since the runtime was made.
        trigger: The trigger or timer.
        of: The step, turn or call that it belonged to, or None.
        facts: The facts that were true afterwards.
        verdict: The machine's answer, `Taken` or `Refused`.
        cause: The number of the entry whose effect posted this one, or None.
        data: What the caller passed along with the trigger.
    """

    seq: int
    t: float
    trigger: str
    of: Any
    facts: tuple[str, ...]
    verdict: Verdict
    cause: int | None
    data: Mapping[str, Any]

    def refused(self, timers: Container[str]) -> bool:
        """Whether the trigger was refused. Timers that stay due and ignored events do not count.

        Args:
            timers: The names of the flow's timers.
        """
        verdict = self.verdict
        refused = isinstance(verdict, Refused) and verdict.reason != "ignores"
        return refused and self.trigger not in timers

    def to_json(self) -> dict[str, Any]:
        """The entry as a JSON object."""
        verdict = self.verdict
        record: dict[str, Any] = {"seq": self.seq, "t": round(self.t, 6), "trigger": self.trigger}
        record |= {"of": self.of, "state": verdict.state, "facts": list(self.facts)}
        if isinstance(verdict, Taken):
            record |= {"verdict": "taken", "dest": verdict.dest, "row": verdict.row}
            record |= {"actions": list(verdict.actions), "entered": verdict.entered}
            record |= {"restarts": list(verdict.restarts)} if verdict.restarts else {}
            record |= {"keeps": list(verdict.keeps)} if verdict.keeps else {}
        else:
            record |= {"verdict": "refused", "dest": verdict.state}
            record |= {"reason": verdict.reason, "why": verdict.why}
        return record | {"cause": self.cause, "data": dict(self.data)}


@attrs.frozen
class Note:
    """A record that is not a trigger: a transcript, a span of audio, a tool call.

    Attributes:
        seq: Its number, from 1; entries and notes are counted together.
        t: Seconds since the runtime was made.
        kind: Its kind, such as ``message`` or ``tool_started``.
        data: The note's fields.
    """

    seq: int
    t: float
    kind: str
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The note as a JSON object."""
        data = dict(self.data)
        return {"seq": self.seq, "t": round(self.t, 6), "note": self.kind, "data": data}


Record: TypeAlias = Entry | Note


@attrs.frozen
class Snapshot:
    """The state of the machine after an entry.

    Attributes:
        seq: The entry's number.
        tokens: Scope to the step, turn or call that was current in it.
    """

    seq: int
    state: str
    facts: tuple[str, ...]
    tokens: Mapping[str, Any]


@attrs.frozen
class Header:
    """The first line of a journal.

    Attributes:
        flow: The name of the flow.
        initial: The flow's initial state.
        started_at: When the journal began, in seconds of Unix time.
        snapshot: Where a replay begins if the first entries were dropped.
        redacted: How and under which keys the text of the conversation was removed; None if it was
            not.
        timers: The seconds of the session's timers, `NEVER` for one that does not fire (null in the
            file). Empty if the journal does not say.
    """

    flow: str
    initial: str
    started_at: float = 0.0
    snapshot: Snapshot | None = None
    redacted: Mapping[str, Any] | None = None
    timers: Mapping[str, float] = attrs.field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The header as a JSON object."""
        record: dict[str, Any] = {"journal": VERSION, "flow": self.flow, "initial": self.initial}
        record["started_at"] = round(self.started_at, 3)
        if self.timers:
            seconds = self.timers.items()
            record["timers"] = {name: None if value == NEVER else value for name, value in seconds}
        if self.snapshot is not None:
            record["snapshot"] = attrs.asdict(self.snapshot)
        if self.redacted is not None:
            record["redacted"] = dict(self.redacted)
        return record


@attrs.frozen
class Journal:
    """The journal of one conversation. Times are seconds since its start.

    Attributes:
        header: The first line.
        records: Entries and notes, in their order.
        damage: What was lost at the end of the file, with file and line, or None.

    Example:
        >>> from turnfsm import Header, Journal
        >>> Journal(Header("turn", "listening"), ()).entries
        ()
    """

    header: Header
    records: tuple[Record, ...]
    damage: str | None = None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The triggers."""
        return tuple(record for record in self.records if isinstance(record, Entry))

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """The records that are not triggers."""
        return tuple(record for record in self.records if isinstance(record, Note))

    def to_json(self) -> Iterator[dict[str, Any]]:
        """The lines of the file, as JSON objects."""
        yield self.header.to_json()
        for record in self.records:
            yield record.to_json()
