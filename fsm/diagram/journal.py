"""A journal as JSONL: one record a line, read with the place of everything that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from turnfsm.fsm.errors import TurnfsmError

__all__ = ["Journal", "JournalError", "Note", "Record", "parse_journal", "read_journal"]


class JournalError(TurnfsmError):
    """A journal that cannot be read; names the line."""


@attrs.frozen
class Record:
    """One trigger and what became of it; `facts` are those that are true afterwards."""

    t: float
    trigger: str
    state: str
    dest: str
    taken: bool
    entered: bool
    reason: str | None
    why: str
    row: str | None
    actions: tuple[str, ...]
    facts: tuple[str, ...]
    data: Mapping[str, Any]


@attrs.frozen
class Note:
    """Something that was heard or done, for people: no trigger."""

    t: float
    kind: str
    data: Mapping[str, Any]


@attrs.frozen
class Journal:
    """A conversation; times are seconds from its start."""

    flow: str | None
    initial: str | None
    events: tuple[Record, ...]
    notes: tuple[Note, ...]

    @property
    def end(self) -> float:
        """The last moment that anything tells of."""
        moments = [record.t for record in self.events] + [note.t for note in self.notes]
        moments += [_number(note.data.get("end")) for note in self.notes]
        return max(moments, default=0.0)


def read_journal(path: str | Path) -> Journal:
    """The journal in a file.

    Raises:
        JournalError: A line is no record of a journal, or the file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as exc:
        raise JournalError(f"{path}: not UTF-8 text (byte {exc.start}); name a journal") from None
    except OSError as exc:
        why = (exc.strerror or str(exc)).lower()
        raise JournalError(f"{path}: {why}; name a readable journal") from None
    return parse_journal(text, str(path))


def parse_journal(text: str, file: str = "<journal>") -> Journal:
    """The journal in a text.

    Raises:
        JournalError: A line is no record of a journal.
    """
    header: Mapping[str, Any] = {}
    events: list[Record] = []
    notes: list[Note] = []
    for place, fields in _lines(text, file):
        if "journal" in fields:
            header = _header(fields, place)
        elif "note" in fields:
            notes.append(_note(fields, place))
        else:
            events.append(_record(fields, place))
    if not (header or events or notes):
        raise JournalError(f"{file}: no records; name a journal (JSONL)")
    return Journal(header.get("flow"), header.get("initial"), tuple(events), tuple(notes))


def _lines(text: str, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    # not splitlines(): JSON strings may hold U+2028, which is no end of a line here
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{file}:{number}"
        try:
            fields = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as exc:
            why = exc.msg if isinstance(exc, json.JSONDecodeError) else "nested too deeply"
            message = f"{place}: not JSON ({why}); a journal has one record a line"
            raise JournalError(message) from None
        if not isinstance(fields, dict):
            raise JournalError(f"{place}: not a record; a journal has one JSON object a line")
        yield place, fields


def _header(fields: dict[str, Any], place: str) -> dict[str, Any]:
    if fields["journal"] != 1:
        message = f"{place}: journal version {fields['journal']!r}; this turnfsm reads version 1"
        raise JournalError(message)
    for key in ("flow", "initial"):
        _of(fields, key, (str, type(None)), place, None)
    return fields


def _note(fields: dict[str, Any], place: str) -> Note:
    return Note(
        _time(fields, place),
        _of(fields, "note", str, place),
        _of(fields, "data", (dict, type(None)), place, None) or {},
    )


def _record(fields: dict[str, Any], place: str) -> Record:
    verdict = _of(fields, "verdict", str, place)
    if verdict not in ("taken", "refused"):
        message = f"{place}: verdict {verdict!r}; it is 'taken' or 'refused'"
        raise JournalError(message)
    state = _of(fields, "state", str, place)
    return Record(
        t=_time(fields, place),
        trigger=_of(fields, "trigger", str, place),
        state=state,
        dest=_of(fields, "dest", (str, type(None)), place, None) or state,
        taken=verdict == "taken",
        entered=bool(fields.get("entered")),
        reason=_of(fields, "reason", (str, type(None)), place, None),
        why=_of(fields, "why", (str, type(None)), place, None) or "",
        row=_of(fields, "row", (str, type(None)), place, None),
        actions=_names(fields, "actions", place),
        facts=_names(fields, "facts", place),
        data=_of(fields, "data", (dict, type(None)), place, None) or {},
    )


_REQUIRED: Any = object()


def _of(fields: dict[str, Any], key: str, kind: Any, place: str, default: Any = _REQUIRED) -> Any:
    value = fields.get(key, default)
    if value is _REQUIRED:
        raise JournalError(f"{place}: a record without {key!r}; is this a journal?")
    if not isinstance(value, kind):
        raise JournalError(f"{place}: {key!r} cannot be {json.dumps(value)[:60]}")
    return value


def _names(fields: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
    names = _of(fields, key, (list, type(None)), place, None) or []
    if not all(isinstance(name, str) for name in names):
        raise JournalError(f"{place}: {key!r} is a list of names")
    return tuple(names)


def _time(fields: dict[str, Any], place: str) -> float:
    value = _of(fields, "t", (int, float), place)
    if isinstance(value, bool) or not 0 <= value < 1e7:
        raise JournalError(
            f"{place}: 't' is {value!r}; it is seconds since the start, not negative"
        )
    return float(value)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e7 else 0.0
