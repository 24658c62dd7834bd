"""Remembers which flows were proved, for later processes.

LiveKit runs each call in its own process. Without this, each process would prove the same flow
again before it answers, which takes seconds.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import turnfsm.fsm

__all__ = ["VARIABLE", "is_proved", "remember"]

VARIABLE = "TURNFSM_PROOFS"
"""The environment variable that names the folder; empty: nothing is remembered."""


def is_proved(digest: str) -> bool:
    """Whether a flow with this digest was proved here, by this very checker."""
    file = _file(digest)
    try:
        return file is not None and file.is_file()
    except OSError:  # the folder belongs to another user
        return False


def remember(digest: str) -> None:
    """Record that the flow with this digest is proved. Does nothing if the folder is not
    writable."""
    if (file := _file(digest)) is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError:
        return  # the next process proves it again


def _file(digest: str) -> Path | None:
    folder = os.environ.get(VARIABLE)
    if folder is None:
        try:
            cached = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:  # the user's home is unknown
            return None
        folder = str(Path(cached, "turnfsm", "proofs"))
    if not folder:
        return None
    return Path(folder, hashlib.sha256(f"{_checker()} {digest}".encode()).hexdigest())


@cache
def _checker() -> str:
    """A hash of the checker's code: another version may find more."""
    folder = Path(turnfsm.fsm.__file__).parent
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    known = hashlib.sha256()
    for name in files:
        known.update(f"{name}\n".encode())
        known.update((folder / name).read_bytes())
    return known.hexdigest()
