"""The file of an event recorder, and the words that it stores hashed."""

from __future__ import annotations

import hashlib
import logging
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from turnfsm.fsm.recording import VERSION, arguments_of, corrects, words_of
from turnfsm.runtime.journal import JsonlSink

__all__ = ["EventFile", "hashed_arguments", "hashed_transcript", "hashed_words"]

logger = logging.getLogger("turnfsm")


class EventFile:
    """Writes one event a line, until that fails. `header` has the fields of the first line.

    Raises:
        JournalError: The file exists or cannot be created.
    """

    def __init__(self, target: str | Path | IO[str], header: Mapping[str, Any]) -> None:
        self._sink = JsonlSink(target, redact=None)
        weakref.finalize(self, self._sink.close)  # events may come after the close of the session
        self._write({"events": VERSION, **header})

    def event(self, t: float, name: str, fields: Mapping[str, Any]) -> None:
        """Write an event, `t` seconds after the beginning."""
        self._write({"t": t, "event": name, **fields})

    def _write(self, record: Mapping[str, Any]) -> None:
        before = self._sink.error
        self._sink.write(record)
        if self._sink.error is not before:  # the conversation continues without the recording
            logger.error("the recording of events has stopped: %s", self._sink.error)


def hashed_words(text: str | None, key: bytes) -> list[str]:
    """A keyed hash of each word, without punctuation and case."""
    return [_hashed(word, key) for word in words_of(text or "")]


def hashed_transcript(text: str, key: bytes) -> dict[str, object]:
    """The words of a transcript, and whether it begins like a correction."""
    return {"words": hashed_words(text, key), "corrects": corrects(text)}


def hashed_arguments(arguments: str | Mapping[str, object], key: bytes) -> dict[str, str]:
    """A keyed hash of each argument of a call, by the hash of its name."""
    found = arguments_of(arguments).items()
    return {_hashed(name, key): _hashed(value, key) for name, value in found}


def _hashed(text: str, key: bytes) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6, key=key).hexdigest()
