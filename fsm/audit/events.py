"""Recordings: what `EventRecorder` writes, and what other formats lack."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import attrs

from turnfsm.fsm.journal import JournalError
from turnfsm.fsm.metrics.panel import Tick
from turnfsm.fsm.recording import VERSION

__all__ = ["AFTER", "Evidence", "Recorded", "Recording", "in_order", "parse_recording", "played"]


class Evidence(StrEnum):
    """What a rule needs to know. The value completes "the file does not say ..."."""

    REQUESTS = "when the model was asked"
    REPLIES = "when each reply began and ended"
    INTERRUPTIONS = "when a reply was interrupted"
    INTERRUPTIBLE = "which replies may be interrupted"
    CALLS = "when each tool began and ended"
    ARGUMENTS = "which tool was called, and with what"
    RESULTS = "when a tool's result was added to the conversation"
    TRANSCRIPTS = "when each transcript came"
    MESSAGES = "which messages are in the history, and since when"
    PLAYOUT = "which playout was interrupted"
    STATES = "which agent state was published"
    RESUMES = "which interruptions were false"
    HANDOFFS = "when an agent handed over"
    ERRORS = "which components failed"
    CLOSE = "when and why the session closed"
    CLOSING = "when closing the session began"


AFTER = 0.001
"""Seconds from the end of a speech's last playout until the speech counts as done."""


def played(speech: str, start: float, end: float) -> Iterator[Recorded]:
    """A speech that is created when it is first heard, and done when it is over."""
    yield Recorded(start, "speech_created", {"speech": speech})
    yield Recorded(start, "playback_started", {})
    yield Recorded(end, "playback_finished", {})
    yield Recorded(end + AFTER, "speech_done", {"speech": speech})


@attrs.frozen
class Recorded:
    """One recorded event.

    Attributes:
        t: Seconds since the recording began.
        name: LiveKit's name of the event, or ``speech_done``, ``speech_interrupted``,
            ``playback_started`` or ``playback_finished`` for speeches and the audio output.
        fields: The event's fields, without the text of the conversation.
        line: Its line in the file; 0 if it is not from a recording.
    """

    t: float
    name: str
    fields: Mapping[str, Any]
    line: int = 0

    def text(self, key: str) -> str:
        """A field as text; empty if there is none."""
        value = self.fields.get(key)
        return "" if value is None else str(value)

    def calls(self) -> tuple[str, ...]:
        """The ids of the calls whose results were committed."""
        return tuple(map(str, self.fields.get("calls") or ()))

    def words(self) -> tuple[str, ...]:
        """The hashed words of a transcript or a message."""
        words = self.fields.get("words")
        return tuple(map(str, words)) if isinstance(words, list | tuple) else ()


@attrs.frozen
class Recording:
    """The events of one session, in their order.

    Attributes:
        events: The events.
        lacks: The evidence that its format lacks. Rules that need it are not applied.
        scores: Figures of the tool that wrote it.
        ticks: Who speaks in each tick, if the format has ticks.
    """

    events: tuple[Recorded, ...]
    lacks: frozenset[Evidence] = frozenset()
    scores: Mapping[str, float] = attrs.field(factory=dict)
    ticks: tuple[Tick, ...] | None = None

    def named(self, *names: str) -> tuple[Recorded, ...]:
        """The events with one of these names."""
        return tuple(event for event in self.events if event.name in names)

    @property
    def end(self) -> float:
        """The time of the last event."""
        return self.events[-1].t if self.events else 0.0


def in_order(events: Iterable[Recorded]) -> tuple[Recorded, ...]:
    """Events by their time, in seconds since the first one."""
    ordered = sorted(events, key=lambda event: event.t)
    began = ordered[0].t if ordered else 0.0
    return tuple(attrs.evolve(event, t=round(event.t - began, 6)) for event in ordered)


def parse_recording(data: bytes, file: str | Path) -> Recording:
    """Read a file of `EventRecorder`. An incomplete last line is skipped.

    Args:
        data: The bytes of the file.
        file: The name for errors.

    Returns:
        The events.

    Raises:
        JournalError: It is not a recording, or one of another version.

    Example:
        >>> from pathlib import Path
        >>> from turnfsm.audit import parse_recording
        >>> recording = parse_recording(Path("events.jsonl").read_bytes(), "events.jsonl")
        >>> len(recording.named("playback_started"))
        3
    """
    lacks: set[Evidence] = set()
    events = tuple(_events(data.split(b"\n"), str(file), lacks))
    return Recording(events, frozenset(lacks))


def _events(lines: list[bytes], file: str, lacks: set[Evidence]) -> Iterable[Recorded]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{file}:{number}"
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):
                return
            raise JournalError(f"{place}: not JSON; a recording has one event a line") from None
        if not isinstance(fields, dict):
            raise JournalError(f"{place}: not an event; a recording has one JSON object a line")
        if "events" in fields:
            if fields["events"] != VERSION:
                raise JournalError(
                    f"{place}: recording version {fields['events']!r}, this turnfsm reads version "
                    f"{VERSION}; use the turnfsm that wrote it"
                )
            lacks |= {need for need in Evidence if need.name in (fields.get("lacks") or ())}
            continue
        yield _event(fields, place, number)


def _event(fields: dict[str, Any], place: str, line: int) -> Recorded:
    t, name = fields.pop("t", None), fields.pop("event", None)
    if isinstance(t, bool) or not isinstance(t, int | float) or not 0 <= t < 1e9:
        raise JournalError(f"{place}: 't' cannot be {t!r}; it is seconds since the start")
    if not isinstance(name, str):
        raise JournalError(f"{place}: an event without a name; name a recording, unchanged")
    return Recorded(float(t), name, fields, line)
