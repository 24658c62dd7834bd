"""Checks a conversation against the declared expectations, with evidence for each check."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from attrs import frozen

from .expected import Expectation, Mark
from .words import words

__all__ = ["Result", "check", "moment"]

Record = Mapping[str, Any]


@frozen
class Result:
    """The result of one check; `ok` is None if it was skipped."""

    name: str
    ok: bool | None
    evidence: str

    def __str__(self) -> str:
        word = "skip" if self.ok is None else "ok" if self.ok else "FAIL"
        return f"{word:<5} {self.name:<20} {self.evidence}"


def check(
    expectation: Expectation, records: Iterable[Record], never_posted: Collection[str] = ()
) -> Result:
    """Check one part of the conversation: what must happen, and what must not.

    Args:
        never_posted: Triggers that the host has no occasion for, so they are not expected.
    """
    part = _part(expectation, sorted((r for r in records if "t" in r), key=_place))
    if part is None:
        return Result(expectation.name, False, f"the line {expectation.line} was not said")
    forbidden = [r for r in part if any(_fits(mark, r) for mark in expectation.never)]
    if forbidden:
        return Result(expectation.name, False, f"must not be: {_tell(forbidden[0])}")
    found: list[Record] = []
    rest = iter(part)
    for mark in (mark for mark in expectation.order if mark.what not in never_posted):
        match = next((record for record in rest if _fits(mark, record)), None)
        if match is None:
            after = f" after {_tell(found[-1])}" if found else ""
            return Result(expectation.name, False, f"missing: {_describe(mark)}{after}")
        found.append(match)
    details = "; ".join(map(_tell, found)) or f"{len(part)} records, none of the kind"
    return Result(expectation.name, True, details)


def moment(record: Record) -> float:
    """The time of a record, to a millisecond: the start of audio, or the end of a tool."""
    return round(float(record["data"]["start"] if _is_sound(record) else record["t"]), 3)


def _is_sound(record: Record) -> bool:
    sound = record.get("note") in ("user_audio", "agent_audio")
    return sound and "start" in record["data"]


def _place(record: Record) -> tuple[int, int]:
    """The time of a record in milliseconds, and its number among those with the same time. Audio
    gets one millisecond more, so that it comes after its cause although both times are rounded.
    """
    return round(moment(record) * 1000) + _is_sound(record), record["seq"]


def _part(expectation: Expectation, records: Sequence[Record]) -> list[Record] | None:
    starts = {r["data"]["name"]: i for i, r in enumerate(records) if r.get("note") == "line"}
    if expectation.line and expectation.line not in starts:
        return None
    begin = starts.get(expectation.line, 0)
    part = list(records[begin : starts.get(expectation.until, len(records))])
    mark = expectation.before
    return part if mark is None else list(takewhile(lambda r: not _fits(mark, r), part))


def _fits(mark: Mark, record: Record) -> bool:
    data = record.get("data") or {}
    plain = (
        (mark.what, record.get("trigger", record.get("note"))),
        (mark.verdict, record.get("verdict")),
        (mark.state, record.get("state")),
        (mark.dest, record.get("dest")),
        (mark.name, data.get("name")),
        (mark.new, data.get("new")),
    )
    if any(wanted and wanted != there for wanted, there in plain):
        return False
    if mark.action and mark.action not in record.get("actions", ()):
        return False
    if mark.fact and mark.fact not in record.get("facts", ()):
        return False
    return _says(str(data.get("text", data.get("outcome", ""))), mark.text)


def _says(text: str, wanted: str) -> bool:
    heard, sought = words(text), words(wanted)
    places = range(len(heard) - len(sought) + 1)
    return not sought or any(heard[i : i + len(sought)] == sought for i in places)


def _tell(record: Record) -> str:
    at = f"{moment(record):.2f} s"
    data = record.get("data") or {}
    if "trigger" not in record:
        said = data.get("text") or " ".join(
            str(data[key]) for key in ("name", "outcome", "old", "new", "resumed") if key in data
        )
        return f"{at} {record['note']} {said!r}"
    way = f"-> {record['dest']}" if record.get("entered") else f"in {record['state']}"
    why = f" ({record['why']})" if record["verdict"] == "refused" else ""
    return f"{at} {record['trigger']} {record['verdict']} {way}{why}"


def _describe(mark: Mark) -> str:
    named = (("in", mark.state), ("->", mark.dest), ("with", mark.action), ("named", mark.name))
    parts = [mark.what or "a trigger", mark.verdict, *(f"{a} {b}" for a, b in named if b)]
    parts += [repr(text) for text in (mark.text, mark.new) if text]
    return " ".join(filter(None, parts))
