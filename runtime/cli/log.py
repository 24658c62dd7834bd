"""`turnfsm log`: a journal as lines, also while it is written."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from turnfsm.fsm.journal import Entry, Header, JournalError, JournalReader, Record, read_journal
from turnfsm.runtime.cli._options import JournalFile
from turnfsm.runtime.cli._streams import printable

__all__ = ["log"]

_EVERY = 0.2  # seconds between two reads of a followed file


def log(
    journal: JournalFile,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Wait for more lines, until Ctrl-C.")
    ] = False,
    refused: Annotated[
        bool, typer.Option("--refused", help="Only refusals, with their reasons.")
    ] = False,
) -> None:
    """Print a journal: one line for each trigger and each note."""
    try:
        for header, record in _followed(journal) if follow else _whole(journal):
            if not refused or (isinstance(record, Entry) and record.refused(header.timers)):
                print(printable(_line(record)))
                if _nobody_reads():
                    return
    except KeyboardInterrupt:
        return


def _whole(journal: Path) -> Iterator[tuple[Header, Record]]:
    read = read_journal(journal)
    return ((read.header, record) for record in read.records)


def _followed(journal: Path) -> Iterator[tuple[Header, Record]]:
    reader, rest = JournalReader(str(journal)), b""
    try:
        with journal.open("rb") as file:
            while not _nobody_reads():
                line = file.readline()
                rest += line
                if line.endswith(b"\n"):
                    record, rest = reader.line(rest), b""
                    if reader.header is not None and record is not None:
                        yield reader.header, record
                elif not line:
                    sys.stdout.flush()
                    time.sleep(_EVERY)
    except OSError as exc:
        why = (exc.strerror or str(exc)).lower()
        raise JournalError(f"{journal}: {why}; name a journal that can be read") from None


def _line(record: Record) -> str:
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
