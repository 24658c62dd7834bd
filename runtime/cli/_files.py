"""Finds the input of a command, and writes its output."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from turnfsm.runtime.cli._streams import printable

__all__ = ["begun", "in_folders", "write_file", "write_text"]

logger = logging.getLogger("turnfsm")


def in_folders(paths: Iterable[Path]) -> list[Path]:
    """Replace each folder that has files of JSON lines by these files."""
    inside = ((path, sorted(path.glob("*.jsonl"))) for path in paths)
    return [file for path, files in inside for file in files or (path,)]


def begun(paths: Sequence[Path]) -> list[Path]:
    """Leave out the empty ones of several files: their sessions have never started."""
    empty = [path for path in paths if path.is_file() and not path.stat().st_size]
    if len(empty) == len(paths):
        return [*paths]
    for path in empty:
        logger.warning("%s: empty, as its session has not started; left out", path)
    return [path for path in paths if path not in empty]


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
