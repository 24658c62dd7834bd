"""Journals read back, and run again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from turnfsm.fsm import Flow, Machine

from .errors import JournalError

__all__ = ["Divergence", "read_journal", "replay"]


def read_journal(path: str | Path) -> tuple[list[dict[str, Any]], str | None]:
    """The whole records of a journal, and what was lost at its end, if anything.

    Raises:
        JournalError: The file cannot be read, is no journal, or is damaged before its end.
    """
    try:
        blob = Path(path).read_bytes()
    except OSError as exc:
        why = (exc.strerror or str(exc)).lower()
        raise JournalError(f"{path}: {why}; name a journal") from None
    *lines, tail = blob.split(b"\n")
    records = [_record(f"{path}:{number}", line) for number, line in enumerate(lines, 1)]
    lost = None
    if tail:
        try:  # a record is whole when only the end of its line is missing
            records.append(_record(f"{path}:{len(lines) + 1}", tail))
        except JournalError:
            lost = f"{len(tail)} bytes of record {len(lines) + 1} were cut off"
    if records and "journal" not in records[0]:
        raise JournalError(f"{path}:1: not a journal; the first record must be its header")
    return records, lost


def _record(place: str, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise JournalError(f"{place}: not JSON; a journal is one record a line") from None
    if not isinstance(record, dict):
        raise JournalError(f"{place}: not a record; a journal is one object a line")
    return record


@attrs.frozen
class Divergence:
    """Where a flow does not do what a journal says.

    Attributes:
        seq: The entry.
        expected: What the journal has: verdict, state, facts afterwards, row or reason.
        got: What the flow gives.
    """

    seq: int
    trigger: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"entry {self.seq} ({self.trigger}): journal {self.expected}; flow {self.got}"


def replay(records: Iterable[Mapping[str, Any]], flow: Flow) -> Divergence | None:
    """Run a journal through a flow; None if every verdict, state, fact and row is reproduced.

    A journal whose beginning was dropped from memory says in its header where it goes on from;
    it is replayed from there.

    Raises:
        JournalError: A record lacks what a replay needs.
        UnknownTrigger, UnknownName: The journal is of another flow.
    """
    machine = Machine(flow)
    begun = 0
    for number, record in enumerate(records, 1):
        try:
            if snapshot := record.get("snapshot"):
                machine.restore(snapshot["state"], snapshot["facts"], snapshot["tokens"])
                begun = snapshot["seq"]
            if "trigger" not in record or record["seq"] <= begun:
                continue
            divergence = _again(machine, record)
        except (KeyError, TypeError, AttributeError) as exc:
            message = f"record {number} is no journal's ({exc}); give what read_journal gave"
            raise JournalError(message) from None
        if divergence is not None:
            return divergence
    return None


def _again(machine: Machine, record: Mapping[str, Any]) -> Divergence | None:
    facts = record["facts"]
    machine.give({name: name in facts for name in machine.program.flow.given})
    verdict = machine.step(record["trigger"], record["of"])
    taken, how = ("taken", verdict.row) if verdict else ("refused", verdict.reason)
    names = machine.program.names(machine.facts)
    got = _outcome(taken, machine.state, names, how)
    key = "row" if record["verdict"] == "taken" else "reason"
    expected = _outcome(record["verdict"], record["dest"], facts, record[key])
    if got == expected:
        return None
    return Divergence(record["seq"], record["trigger"], expected, got)


def _outcome(verdict: str, state: str, facts: Iterable[str], how: str | None) -> str:
    return f"{verdict} ({how}) -> {state} {{{', '.join(sorted(facts))}}}"
