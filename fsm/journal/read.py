"""Reads journals: one JSON object per line. Every problem is reported with its file and line.

The end of a journal may be damaged: the process was killed, or the disk was full. The undamaged
part is read, and the damage is reported. Damage before the end is an error.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from turnfsm.fsm.flow import NEVER
from turnfsm.fsm.verdicts import Refused, Taken, Verdict

from .records import VERSION, Entry, Header, Journal, JournalError, Note, Record, Snapshot
from .session_events import session_event

__all__ = ["JournalReader", "journal_of", "parse_journal", "read_journal"]

logger = logging.getLogger("turnfsm")

LONGEST = 1e7
"""The maximum length of a journal, in seconds."""


def read_journal(path: str | Path) -> Journal:
    """Read a journal from a file.

    A damaged end is skipped; `Journal.damage` and a logged warning say so.

    Args:
        path: The file.

    Returns:
        The header, the entries and the notes.

    Raises:
        JournalError: The file cannot be read, is not a journal, is of another version, or is
            damaged before its end.

    Example:
        >>> import pathlib, tempfile
        >>> from turnfsm import Header, Journal, read_journal, write_journal
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "journal.jsonl"
        >>> write_journal(file, Journal(Header("turn", "listening"), ()))
        >>> read_journal(file).header.flow
        'turn'
    """
    try:
        data = Path(path).read_bytes()
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise JournalError(f"{path}: {reason}; name a journal that can be read") from None
    journal = parse_journal(data, str(path))
    if journal.damage is not None:
        logger.warning("%s", journal.damage)
    return journal


def parse_journal(data: bytes | str, file: str = "<journal>") -> Journal:
    """Read a journal from the bytes of a file, as `read_journal`. `file` is the name for errors."""
    # not splitlines(): JSON strings may contain U+2028, which does not end a line here
    blob = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    lines = [(n, line) for n, line in enumerate(blob.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise JournalError(f"{file}: empty; name a journal (JSON lines)")
    damage = None
    objects = []
    for number, line in lines:
        place = f"{file}:{number}"
        try:
            objects.append((place, _loaded(line)))
        except ValueError as exc:
            if number != lines[-1][0] or number == lines[0][0]:
                message = f"{place}: not JSON ({exc}); a journal has one record a line"
                raise JournalError(message) from None
            damage = f"{place}: the last record was cut off ({len(line)} bytes); it is left out"
    return _journal(objects, damage)


def journal_of(records: Iterable[Mapping[str, Any]]) -> Journal:
    """Make a journal from records, as a sink gets them.

    Raises:
        JournalError: They are not the records of a journal.
    """
    return _journal(((f"record {n}", record) for n, record in enumerate(records, 1)), None)


_DECODER = json.JSONDecoder()  # what json.loads asks and does first takes as long as a short line


def _loaded(line: bytes) -> Any:
    try:
        text = line.strip(b" \t\r\n").decode("utf-8")
        value, end = _DECODER.raw_decode(text)
        return value if end == len(text) else json.loads(text)
    except json.JSONDecodeError as exc:
        raise ValueError(exc.msg) from None
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


class JournalReader:
    """Reads a journal line by line, as it is written.

    Args:
        file: The name that errors use.

    Attributes:
        header: The first line, once it was read.
    """

    def __init__(self, file: str = "<journal>") -> None:
        self.header: Header | None = None
        self._file = file
        self._lines = 0

    def line(self, line: bytes) -> Record | None:
        """The record of a complete line; None for the header and for an empty line.

        Raises:
            JournalError: As `read_journal`.
        """
        self._lines += 1
        if not line.strip():
            return None
        place = f"{self._file}:{self._lines}"
        try:
            return self.take(place, _loaded(line))
        except ValueError as exc:
            message = f"{place}: not JSON ({exc}); a journal has one record a line"
            raise JournalError(message) from None

    def take(self, place: str, fields: Any) -> Record | None:
        """The record of a line that was already parsed as JSON. `place` is for errors."""
        if not isinstance(fields, Mapping):
            raise JournalError(f"{place}: not a record; a journal has one JSON object a line")
        if self.header is None:
            self.header = _header(_Fields(place, fields))
            return None
        if "journal" in fields:
            raise JournalError(f"{place}: a second header; a journal is of one session, split it")
        return _record(_Fields(place, fields))


def _journal(objects: Iterable[tuple[str, Any]], damage: str | None) -> Journal:
    reader = JournalReader()
    taken = [reader.take(place, fields) for place, fields in objects]
    if reader.header is None:
        raise JournalError("no records; a journal begins with its header")
    return Journal(reader.header, tuple(r for r in taken if r is not None), damage)


_REQUIRED: Any = object()
_TEXT = (str,)
_OPTIONAL_TEXT = (str, type(None))
_MAPPING = (dict, Mapping, type(None))


class _Fields:
    """The fields of one line, checked for their types."""

    def __init__(self, place: str, fields: Mapping[str, Any]) -> None:
        self.place = place
        self._fields = fields

    def __contains__(self, key: str) -> bool:
        return key in self._fields

    @property
    def of(self) -> Any:
        """Of any type."""
        return self._fields.get("of")

    def error(self, message: str) -> JournalError:
        return JournalError(f"{self.place}: {message}")

    def take(self, key: str, kinds: tuple[type, ...], default: Any = _REQUIRED) -> Any:
        value = self._fields.get(key, default)
        if value is _REQUIRED:
            raise self.error(f"a record without {key!r}; name a journal, whole and unchanged")
        if type(value) in kinds:  # nearly always, and quicker than what follows
            return value
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.error(f"{key!r} cannot be {repr(value)[:60]}")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        names = self.take(key, (list, tuple))
        if not set(map(type, names)) <= {str}:
            raise self.error(f"{key!r} is a list of names")
        return tuple(names)

    def time(self) -> float:
        value = self.take("t", (int, float))
        if not 0 <= value < LONGEST:
            raise self.error(f"'t' is {value!r}; it is seconds since the start, not negative")
        return float(value)

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        mapping: Mapping[str, Any] | None = self.take(key, _MAPPING, None)
        return mapping


def _header(line: _Fields) -> Header:
    if "journal" not in line:
        raise line.error(
            "not a journal; its first line is a header with the key 'journal'. "
            "`turnfsm audit` reads recordings"
        )
    version = line.take("journal", (int, float, str, type(None)))
    if version != VERSION:
        raise line.error(
            f"journal version {version!r}, this turnfsm reads version {VERSION}; "
            "use the turnfsm that wrote it"
        )
    started_at = line.take("started_at", (int, float), 0.0)
    snapshot = line.mapping("snapshot")
    return Header(
        flow=line.take("flow", _TEXT),
        initial=line.take("initial", _TEXT),
        started_at=float(started_at) if math.isfinite(started_at) else 0.0,
        snapshot=None if snapshot is None else _snapshot(_Fields(line.place, snapshot)),
        redacted=line.mapping("redacted"),
        timers=_timers(line),
    )


def _timers(line: _Fields) -> dict[str, float]:
    timers = line.mapping("timers") or {}
    for name, seconds in timers.items():
        if isinstance(seconds, bool) or not isinstance(seconds, int | float | None):
            raise line.error(f"timer {name!r} cannot be {repr(seconds)[:60]}; it is seconds")
    return {name: NEVER if value is None else float(value) for name, value in timers.items()}


def _snapshot(line: _Fields) -> Snapshot:
    tokens = line.mapping("tokens") or {}
    return Snapshot(
        line.take("seq", (int,)), line.take("state", _TEXT), line.names("facts"), tokens
    )


def _record(line: _Fields) -> Record:
    data = line.mapping("data") or {}
    if "note" in line:
        note = Note(line.take("seq", (int,)), line.time(), line.take("note", _TEXT), data)
        try:
            session_event(note)
        except TypeError as exc:
            raise line.error(f"{exc}; name a journal, whole and unchanged") from None
        return note
    trigger = line.take("trigger", _TEXT)
    return Entry(
        verdict=_verdict(line, trigger),
        seq=line.take("seq", (int,)),
        t=line.time(),
        trigger=trigger,
        of=line.of,
        facts=line.names("facts"),
        cause=line.take("cause", (int, type(None)), None),
        data=data,
    )


def _verdict(line: _Fields, trigger: str) -> Verdict:
    verdict, source = line.take("verdict", _TEXT), line.take("state", _TEXT)
    if verdict == "taken":
        return Taken(
            trigger,
            source,
            line.take("dest", _TEXT),
            line.names("actions"),
            line.take("entered", (bool,)),
            line.take("row", _OPTIONAL_TEXT),
            line.names("restarts") if "restarts" in line else (),
            line.names("keeps") if "keeps" in line else (),
        )
    if verdict == "refused":
        return Refused(trigger, source, line.take("reason", _TEXT), line.take("why", _TEXT))
    raise line.error(f"verdict {verdict!r}; it is 'taken' or 'refused'")
