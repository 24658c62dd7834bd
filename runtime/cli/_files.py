"""Writes the output of a command to a file."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_file"]


def write_file(path: Path, data: bytes) -> None:
    """Write a file, in a folder that is made if it is missing.

    Raises:
        OSError: It cannot be written; has the path as the caller named it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
