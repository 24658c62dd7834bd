"""Finds when the speech of a message began."""

from __future__ import annotations

from turnfsm.fsm.journal import Entry, Note, Record

__all__ = ["Begun"]


class Begun:
    """Tracks the start of speech, since a message is written when it is complete."""

    def __init__(self) -> None:
        self._voice: float | None = None  # the first speech without a transcript so far
        self._since: dict[str, float] = {}
        self._heard = False

    def feed(self, record: Record) -> float | None:
        """Take the next record.

        Returns:
            When the speech of this message began; None if it is not a message.
        """
        if isinstance(record, Entry):
            self._entry(record)
            return None
        if record.kind == "voice_unrecognised":
            self._voice = None
        return self._message(record)

    def _entry(self, entry: Entry) -> None:
        if entry.verdict and entry.trigger == "user_started_speaking" and self._voice is None:
            self._voice = entry.t
        elif entry.verdict and entry.trigger == "final_transcript" and self._voice is not None:
            self._since.setdefault("user", self._voice)
            self._voice = None
        heard = entry.verdict.dest == "speaking"
        if heard and not self._heard:
            self._since.setdefault("assistant", entry.t)
        self._heard = heard

    def _message(self, note: Note) -> float | None:
        if note.kind != "message":
            return None
        return min(note.t, self._since.pop(str(note.data.get("role")), note.t))
