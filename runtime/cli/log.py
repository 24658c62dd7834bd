"""`turnfsm log`: a journal as lines, also while it is written."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from turnfsm.runtime.cli._streams import printable

if TYPE_CHECKING:
    from turnfsm.fsm.journal import Record

__all__ = ["log"]

_EVERY = 0.2  # seconds between two reads of a followed file


def log(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="A journal (JSONL file).")],
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Wait for more lines, until Ctrl-C.")
    ] = False,
    refused: Annotated[
        bool, typer.Option("--refused", help="Only refusals, with their reasons.")
    ] = False,
) -> None:
    """Print a journal: one line for each trigger and each note."""
    from turnfsm.fsm import TurnfsmError

    try:
        file = journal.open("rb")
    except OSError as exc:
        why = (exc.strerror or str(exc)).lower()
        raise TurnfsmError(f"{journal}: {why}; name a journal that can be read") from None
    with file:
        try:
            for record in _records(file, str(journal), follow):
                if not refused or _was_refused(record):
                    print(printable(_line(record)))
                    if _nobody_reads():
                        return
        except KeyboardInterrupt:
            return


def _records(file: IO[bytes], name: str, follow: bool) -> Iterator[Record]:
    from turnfsm.fsm.journal import JournalError, JournalReader

    reader, rest = JournalReader(name), b""
    while True:
        try:
            line = file.readline()
        except OSError as exc:
            why = (exc.strerror or str(exc)).lower()
            raise JournalError(f"{name}: {why}; name a journal that can be read") from None
        rest += line
        if line.endswith(b"\n"):
            record, rest = reader.line(rest), b""
            if record is not None:
                yield record
        elif not line and follow:
            sys.stdout.flush()
            if _nobody_reads():
                return
            time.sleep(_EVERY)
        elif not line:
            break
    yield from _last(reader, rest, name)


def _last(reader: object, rest: bytes, name: str) -> Iterator[Record]:
    """The incomplete last line of a file."""
    from turnfsm.fsm.journal import JournalError, JournalReader

    assert isinstance(reader, JournalReader)
    if rest.strip():
        try:
            record = reader.line(rest)
        except JournalError:
            if reader.header is None:
                raise
            warning = f"{name}: the last record was cut off ({len(rest)} bytes); it is left out"
            print(warning, file=sys.stderr)
            return
        if record is not None:
            yield record
    if reader.header is None:
        raise JournalError(f"{name}: empty; name a journal (JSON lines)")


def _was_refused(record: Record) -> bool:
    from turnfsm.fsm import Refused
    from turnfsm.fsm.journal import Entry

    if not isinstance(record, Entry) or not isinstance(record.verdict, Refused):
        return False
    return record.verdict.reason != "ignores"


def _line(record: Record) -> str:
    from turnfsm.fsm.journal import Entry

    at = f"{record.t:9.3f}  "
    if isinstance(record, Entry):
        of = f"  of {record.of}" if record.of is not None else ""
        return f"{at}{record.verdict}{of}"
    data = ", ".join(f"{key}={value!r}" for key, value in record.data.items())
    return f"{at}. {record.kind}{': ' * bool(data)}{data}"


def _nobody_reads() -> bool:
    """Standard output was closed: `turnfsm log -f | head`."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return getattr(raw, "error", None) is not None
