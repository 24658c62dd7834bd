"""Records failed components, missing audio, missing transcripts, and the close."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnfsm.fsm.journal import (
    AudioResumed,
    AudioStopped,
    Closed,
    ComponentFailed,
    SessionEvent,
    VoiceUnrecognised,
)

__all__ = ["AUDIO_LIMIT", "TRANSCRIPT_LIMIT", "Outages"]

AUDIO_LIMIT = 5.0
"""Seconds without a user audio frame after which the audio counts as stopped."""

TRANSCRIPT_LIMIT = 3.0
"""Seconds after the end of speech within which a transcript should arrive."""


class Outages:
    """Records failures of a session, and watches for missing audio and transcripts.

    Args:
        record: Records an event.
        now: Returns the journal's time in seconds.
        expects_audio: Whether there is a microphone, and it is on.
        given_up: Called with a speech's id and a sentence if a component that it needs has failed
            for good.
    """

    def __init__(
        self,
        record: Callable[[SessionEvent], None],
        now: Callable[[], float],
        expects_audio: Callable[[], bool],
        given_up: Callable[[str, str], None],
    ) -> None:
        self._record, self._now, self._expects_audio = record, now, expects_audio
        self._given_up = given_up
        self._closed: Closed | None = None
        self._clock: Callable[[], float]  # called for each frame
        self._frame_at = 0.0  # by this clock
        self._stopped = False
        self._look: asyncio.TimerHandle | None = None
        self._voice: tuple[float, float] | None = None  # since when speech has had no transcript
        self._voice_at: float | None = None  # the start of the current speech
        self._until = 0.0
        self._due: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The session has started."""
        self._clock = asyncio.get_running_loop().time
        self._frame_at = self._clock()
        self._look_later()

    def end(self) -> None:
        """The session has closed, and its recording is complete."""
        for timer in (self._look, self._due):
            if timer is not None:
                timer.cancel()
        self._look = self._due = None
        if self._closed is not None:
            self._record(self._closed)

    # -- what the framework reports

    def failed(self, failure: ComponentFailed) -> None:
        """A component has failed."""
        self._record(failure)
        if failure.speech is not None and not failure.recoverable:
            self._given_up(failure.speech, str(failure))

    def closing(self, closed: Closed) -> None:
        """The session starts to close. The last record of the journal says why."""
        self._closed = closed

    # -- audio

    def frame_received(self) -> None:
        """A frame of the user's audio has arrived."""
        self._frame_at = self._clock()
        if self._stopped:
            self._stopped = False
            self._record(AudioResumed())

    def _look_later(self) -> None:
        left = self._frame_at + AUDIO_LIMIT - self._clock()
        wait = AUDIO_LIMIT if self._stopped else max(0.1, left)
        self._look = asyncio.get_running_loop().call_later(wait, self._look_for_audio)

    def _look_for_audio(self) -> None:
        if not self._expects_audio():
            self._frame_at = self._clock()  # the time counts from when audio is expected again
        elif not self._stopped and (silent := self._clock() - self._frame_at) >= AUDIO_LIMIT:
            self._stopped = True
            self._record(AudioStopped(since=round(self._now() - silent, 3)))
        self._look_later()

    # -- transcripts

    def voice_started(self) -> None:
        """The VAD detects speech, and a transcript should follow."""
        self._voice_at = self._now()
        self._voice = self._voice or (self._voice_at, 0.0)

    def voice_ended(self) -> None:
        """Speech has ended."""
        if self._voice_at is None or self._voice is None:
            return
        self._until = self._now()
        since, longest = self._voice
        self._voice = since, max(longest, self._until - self._voice_at)
        self._voice_at = None
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(TRANSCRIPT_LIMIT, self._is_missing)

    def transcript_received(self) -> None:
        """A transcript has arrived, interim or final."""
        self._voice = None
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _is_missing(self) -> None:
        self._due = None
        if self._voice is None:
            return
        (since, longest), self._voice = self._voice, None
        told = (round(seconds, 3) for seconds in (since, self._until, longest))
        self._record(VoiceUnrecognised(*told))
