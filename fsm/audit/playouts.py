"""Events of audio whose speeches a format does not name."""

from __future__ import annotations

from collections.abc import Iterator

from .events import Recorded

__all__ = ["AFTER", "played"]

AFTER = 0.001
"""Seconds from the end of a speech's last playout until the speech counts as done."""


def played(speech: str, start: float, end: float) -> Iterator[Recorded]:
    """A speech that is created when it is first heard, and done when it is over."""
    yield Recorded(start, "speech_created", {"speech": speech})
    yield Recorded(start, "playback_started", {})
    yield Recorded(end, "playback_finished", {})
    yield Recorded(end + AFTER, "speech_done", {"speech": speech})
