"""Writes the output of a command."""

from __future__ import annotations

from pathlib import Path

from turnfsm.runtime.cli._streams import printable

__all__ = ["write_file", "write_text"]


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or print it."""
    if output is None:
        print(printable(text), end="")
    else:
        write_file(output, text.encode())


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
