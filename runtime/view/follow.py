"""Shows growing journal files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import JournalReader

from .hub import Conversation, Hub

__all__ = ["CUT_OFF", "Folder"]

CUT_OFF = 600.0
"""Seconds without a new record after which an unclosed session counts as crashed."""


class _Growing:
    """One journal, read as far as its last whole line."""

    def __init__(self, path: Path, hub: Hub, flow_of: Callable[[str], Flow]) -> None:
        self.path, self._hub, self._flow_of = path, hub, flow_of
        self._at = 0
        self._reader = JournalReader(str(path))
        self._shown: Conversation | None = None
        self.trouble: str | None = None

    def look(self) -> bool:
        """Show the records since the last call. Returns whether there were any."""
        fresh = self._read()
        return self._settle() or fresh

    def _settle(self) -> bool:
        """Mark a session whose worker was killed as crashed. Returns whether that is new."""
        shown = self._shown
        if shown is None or shown.closed or self.trouble is not None:
            return False
        try:
            cut_off = time.time() - self.path.stat().st_mtime > CUT_OFF
        except OSError:
            return False  # it may come back
        if cut_off == shown.ended:
            return False
        shown.ended, shown.how = cut_off, "cut off: the session has not closed" if cut_off else ""
        return True

    def _read(self) -> bool:
        if self.trouble is not None:
            return False
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                data = file.read()
        except OSError:
            return False  # it may come back
        whole, newline, _rest = data.rpartition(b"\n")
        if not newline:
            return False
        self._at += len(whole) + 1
        for line in whole.split(b"\n"):
            if self.trouble is None:
                self._show(line)
        return True

    def _show(self, line: bytes) -> None:
        try:
            record = self._reader.line(line)
            if record is not None and self._shown is not None:
                self._shown.add(record)
            elif self._shown is None and (head := self._reader.header) is not None:
                self._shown = self._hub.begin(self._flow_of(head.flow), head, self.path.name)
        except TurnfsmError as error:
            self.trouble = str(error)
            if self._shown is None:
                self._hub.unread.append(self.trouble)
            else:
                self._shown.trouble = self.trouble
                self._shown.ended = True


class Folder:
    """Shows a journal, or all ``*.jsonl`` of a folder, while they are written.

    `flow_of` returns the flow for the name in a journal's header.
    """

    def __init__(self, path: Path, hub: Hub, flow_of: Callable[[str], Flow]) -> None:
        self._path, self._hub, self._flow_of = path, hub, flow_of
        self._journals: dict[Path, _Growing] = {}

    def look(self) -> list[str]:
        """Show new records. Returns the problems, each only once."""
        fresh = False
        troubles = []
        for path in self._files():
            known = self._journals.get(path)
            if known is None:
                known = self._journals[path] = _Growing(path, self._hub, self._flow_of)
            before = known.trouble
            fresh |= known.look()
            if known.trouble != before:
                troubles.append(str(known.trouble))
        if fresh:
            self._hub.changed()
        return troubles

    def _files(self) -> list[Path]:
        if not self._path.is_dir():
            return [self._path]
        return sorted(self._path.glob("*.jsonl"), key=lambda path: (path.stat().st_mtime, path))
