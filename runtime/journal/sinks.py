"""Journals on disk: JSON lines."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Collection, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any

from turnfsm.fsm.journal import Journal, JournalError

from .redact import PRIVATE, Redact, Redactor

__all__ = ["JsonlSink", "as_line", "write_journal"]


class JsonlSink:
    """Writes a journal to a file immediately, one JSON record per line.

    The file is new, and only its owner can read it. What was written survives a killed process, but
    not a power cut. The text of the conversation is left out unless `redact` says otherwise. If the
    disk is full or a pipe is closed, writing stops and the conversation continues; `error` then
    says why. A session that is restarted after its end writes another file next to the first one:
    ``journal.jsonl``, ``journal-2.jsonl``.

    Args:
        target: The path of a new file; a folder (``"calls/"``, or any path without a suffix), which
            is made if needed, and gets a new file that is named after the time; or an open text
            file, which is not closed at the end.
        redact: ``leave_out``, ``hash``, or None to keep what was said.
        private: The keys of an entry's or note's data that have text of the conversation.

    Attributes:
        redact: As above.
        error: Why writing has stopped; None if it has not.

    Raises:
        JournalError: The file exists or cannot be made.

    Example:
        >>> import io
        >>> from turnfsm import JsonlSink, TurnRuntime, load_flow
        >>> out = io.StringIO()
        >>> sink = JsonlSink(out)
        >>> sink.error is None
        True
    """

    def __init__(
        self,
        target: str | Path | IO[str],
        *,
        redact: Redact | None = "leave_out",
        private: Collection[str] = PRIVATE,
    ) -> None:
        self.error: Exception | None = None
        self._redact = Redactor(redact, private)
        self.redact = redact
        self._target = path_of(target) if isinstance(target, str | Path) else target
        self._file: IO[str] | None = (
            new_file(self._target) if isinstance(self._target, Path) else self._target
        )

    def write(self, record: Mapping[str, Any]) -> None:
        """Write one line."""
        if self._file is None and "journal" in record and self.error is None:
            self._begin_another()
        if self._file is None:
            return
        try:
            self._file.write(as_line(self._redact(record)))
            self._file.flush()
        except (OSError, ValueError) as exc:  # ValueError: somebody else has closed the file
            self.error = exc
            self.close()

    def close(self) -> None:
        """Stop writing."""
        file, self._file = self._file, None
        if file is None or file is self._target:
            return
        try:
            file.close()
        except OSError as exc:  # a failed write would fail again
            self.error = self.error or exc

    def _begin_another(self) -> None:
        """Begin another file for a restarted session."""
        if not isinstance(self._target, Path):
            self._file = self._target
            return
        others = (self._target.with_stem(f"{self._target.stem}-{n}") for n in count(2))
        path = next(path for path in others if not path.exists())
        try:
            self._file = new_file(path)
        except JournalError as exc:
            self.error = exc


def write_journal(
    path: str | Path,
    journal: Journal,
    *,
    redact: Redact | None = "leave_out",
    private: Collection[str] = PRIVATE,
) -> None:
    """Write a whole journal to a new file. Only its owner can read it.

    Args:
        path: The new file. If the writing fails, no file is left.
        journal: What is written.
        redact: ``leave_out``, ``hash``, or None to keep what was said.
        private: The keys of an entry's or note's data that have text of the conversation.

    Raises:
        JournalError: The file exists or cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> from turnfsm import Header, Journal, write_journal
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "journal.jsonl"
        >>> write_journal(file, Journal(Header("turn", "listening"), ()))
        >>> file.exists()
        True
    """
    path, redactor = Path(path), Redactor(redact, private)
    text = "".join(as_line(redactor(record)) for record in journal.to_json())
    file = new_file(path)
    try:
        with file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        path.unlink()
        raise _cannot(path, exc) from None


def as_line(record: Mapping[str, Any]) -> str:
    """A record as a line of a file, with values of any type."""
    # Lone surrogates, which some STTs return, are not UTF-8: then all is escaped.
    try:
        line = json.dumps(record, ensure_ascii=False, default=_plain)
        line.encode()
    except UnicodeEncodeError:
        line = json.dumps(record, default=_plain)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, circles, depth
        data = {"unwritable": _plain(record.get("data"))[:500]}
        line = json.dumps({**record, "of": _plain(record.get("of")), "data": data}, default=_plain)
    return line + "\n"


def _plain(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # whatever the value's own __str__ may raise
        return f"<{type(value).__name__}>"


def path_of(target: str | Path) -> Path:
    """The path of the file: the target, or a new name in it if it is a folder.

    A path without a suffix, or one that ends with a slash, is a folder, unless a file has this
    name. It is made if it does not exist. A `JournalError` says why it cannot be made.
    """
    path = Path(target)
    named = str(target).endswith(("/", os.sep))
    if not (named or path.is_dir()) and (path.suffix or os.path.lexists(path)):
        return path
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise JournalError(f"{path}: {_reason(exc)}; name another folder") from None
    return path / f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{secrets.token_hex(3)}.jsonl"


def new_file(path: Path) -> IO[str]:
    """Make a file that only its owner can read. A `JournalError` says why it cannot be made."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as exc:
        raise _cannot(path, exc) from None
    return os.fdopen(descriptor, "w", encoding="utf-8")


def _exists(path: Path) -> JournalError:
    return JournalError(
        f"{path} exists, and is not overwritten; name a new file for each session, or a folder: "
        "'calls/'"
    )


def _cannot(path: Path, exc: OSError) -> JournalError:
    return JournalError(f"{path}: {_reason(exc)}; name a file that can be written")


def _reason(exc: OSError) -> str:
    return (exc.strerror or str(exc)).lower()
