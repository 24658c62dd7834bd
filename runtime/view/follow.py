"""Journals on disk, shown while they grow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import parse_record

from .hub import Conversation, Hub

__all__ = ["Folder"]

_QUIET = 10.0
"""Seconds without a record in which a journal counts as one that still grows."""


class _Growing:
    """One journal, read as far as its last whole line."""

    def __init__(self, path: Path, hub: Hub, flow_of: Callable[[str], Flow]) -> None:
        self.path, self._hub, self._flow_of = path, hub, flow_of
        self._at = 0
        self._line = 0
        self._shown: Conversation | None = None
        self.trouble: str | None = None

    def look(self) -> bool:
        """Show what has been written since; gives whether there was something."""
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
            self._line += 1
            if line.strip() and self.trouble is None:
                self._show(line)
        return True

    def _show(self, line: bytes) -> None:
        place = f"{self.path}:{self._line}"
        try:
            fields = json.loads(line)
            if not isinstance(fields, dict):
                raise ValueError("not an object")
            if self._shown is None:
                flow = self._flow_of(str(fields.get("flow")))
                self._shown = self._hub.begin(flow, fields, self.path.name)
            else:
                self._shown.add(parse_record(fields, place))
        except ValueError as error:
            self._stop(f"{place}: not a record ({error})")
        except TurnfsmError as error:
            self._stop(f"{self.path}: {error}")

    def _stop(self, trouble: str) -> None:
        self.trouble = trouble
        if self._shown is not None:
            self._shown.trouble = trouble
            self._shown.ended = True


class Folder:
    """Shows a journal, or all journals of a folder, as they are written.

    Args:
        path: A journal, or a folder of ``*.jsonl``; new ones are found.
        hub: Who shows them.
        flow_of: The flow of the name that a journal's header says.
    """

    def __init__(self, path: Path, hub: Hub, flow_of: Callable[[str], Flow]) -> None:
        self._path, self._hub, self._flow_of = path, hub, flow_of
        self._journals: dict[Path, _Growing] = {}

    def look(self) -> list[str]:
        """Show what is new; gives the troubles that were found, each once."""
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
        found = [(path.stat().st_mtime, path) for path in self._path.glob("*.jsonl")]
        return [path for _, path in sorted(found)]
