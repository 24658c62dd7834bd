"""Writes files atomically."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Replace a regular file in one step, so that a reader never sees an incomplete one.

    A link is followed. A device or a pipe is written to, as is standard output under any name.

    Raises:
        OSError: It cannot be written; carries the path as the caller named it.
    """
    try:
        there = _status(path)
        if there is not None and _is_stdout(there):
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        elif there is not None and not stat.S_ISREG(there.st_mode):
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data, there)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_stdout(there: os.stat_result) -> bool:
    try:
        return os.path.samestat(there, os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # it is closed, or a test has replaced it
        return False


def _replace(path: Path, data: bytes, old: os.stat_result | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".turnfsm.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, _fresh_mode() if old is None else stat.S_IMODE(old.st_mode))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _fresh_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
