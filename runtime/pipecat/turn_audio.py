"""The audio of the user's turns, for a model that hears them."""

from __future__ import annotations

from collections import deque

from pipecat.frames import frames as f

__all__ = ["TurnAudio"]

BEFORE = 1.0
"""Seconds of audio before the VAD reports voice: it reports late, and the audio leads up to it."""


class TurnAudio:
    """Holds the audio of a turn until the flow has committed it. What the flow ignores, and the
    silence between turns, is dropped."""

    def __init__(self) -> None:
        self._before: deque[f.InputAudioRawFrame] = deque()
        self._turn: list[f.InputAudioRawFrame] = []
        self._committed: list[f.InputAudioRawFrame] = []
        self._open = False

    def heard(self, frame: f.InputAudioRawFrame) -> None:
        """A frame of the user's audio has come."""
        if self._open:
            self._turn.append(frame)
            return
        self._before.append(frame)
        while len(self._before) * frame.num_frames > BEFORE * frame.sample_rate:
            self._before.popleft()

    def voice_started(self) -> None:
        """The user speaks: it may become a turn."""
        self._turn += self._before
        self._before.clear()
        self._open = True

    def committed(self) -> None:
        """The flow has committed the turn."""
        self._committed += self._turn
        self._turn = []

    def turn_closed(self, *, speaks: bool) -> None:
        """The turn is over. What was not committed is dropped."""
        self._turn, self._open = [], speaks

    @property
    def ready(self) -> bool:
        """There is audio of committed turns."""
        return bool(self._committed)

    def take(self) -> list[f.InputAudioRawFrame]:
        """The audio of the committed turns, which is about to be sent."""
        audio, self._committed = self._committed, []
        return audio
