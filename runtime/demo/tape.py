"""A recording of what an audio output plays, with the times."""

import numpy as np
from attrs import frozen

from .pace import Pace
from .speech import PCM, RATE, resample

__all__ = ["BLOCK", "PacedTape", "Sound"]

BLOCK = 0.02
"""Seconds; a pause or a clear takes effect between two blocks."""

_LATE = 0.2  # seconds; a larger delay is not caught up
_GAP = 0.1  # seconds; the output is silent if nothing was played for longer


@frozen
class Sound:
    """Audio without a gap, as it was played."""

    segment: int  # the utterance that it belongs to; a paused one has several
    at: float  # conversation time of the first sample
    pcm: bytearray
    rate: int

    @property
    def samples(self) -> PCM:
        """Samples at `rate` Hz."""
        return np.frombuffer(bytes(self.pcm), np.int16)

    @property
    def end(self) -> float:
        """Conversation time after the last sample."""
        return self.at + len(self.pcm) / 2 / self.rate


class PacedTape:
    """Takes as long for audio as it lasts, and records it, utterance by utterance.

    Args:
        pace: The clock of the conversation.
        rate: The rate of the samples in Hz.
    """

    def __init__(self, pace: Pace, rate: int) -> None:
        self.pace, self.rate = pace, rate
        self.heard: list[Sound] = []
        self._ended = 0  # utterances
        self._until = 0.0  # conversation time until which audio is played

    @property
    def sounding(self) -> bool:
        """Whether audio is playing now."""
        return bool(self.heard) and self.pace.now() < self._until + _GAP

    async def play(self, audio: bytes | bytearray) -> None:
        """Play it, after what was played before."""
        now = self.pace.now()
        if now - self._until > _LATE:
            self._until = now
        self._record(audio, self._until)
        self._until += len(audio) / 2 / self.rate
        await self.pace.sleep(self._until - now)

    async def wait(self, audio: bytes) -> None:
        """Take as long for it, and record nothing."""
        await self.pace.sleep(len(audio) / 2 / self.rate)

    def _record(self, block: bytes | bytearray, at: float) -> None:
        """Add samples that are played from this conversation time on."""
        last = self.heard[-1] if self.heard else None
        joined = last is not None and last.segment == self._ended
        if last is None or not joined or abs(last.end - at) > BLOCK / 2:
            self.heard.append(Sound(self._ended, at, bytearray(), self.rate))
        self.heard[-1].pcm.extend(block)

    def utterance_ended(self) -> None:
        """What follows belongs to another utterance."""
        self._ended += 1

    def track(self) -> PCM:
        """Everything that was played, at its conversation time, at RATE Hz."""
        end = max((heard.end for heard in self.heard), default=0.0)
        track = np.zeros(round(end * RATE) + RATE // 10, np.int16)
        for heard in self.heard:
            pcm = resample(heard.samples, heard.rate, RATE)
            start = round(heard.at * RATE)
            track[start : start + len(pcm)] = pcm[: len(track) - start]
        return track

    def utterances(self) -> list[PCM]:
        """The played audio of each utterance at the output's own rate, without pauses."""
        parts: dict[int, list[PCM]] = {}
        for sound in self.heard:
            parts.setdefault(sound.segment, []).append(sound.samples)
        return [np.concatenate(samples) for samples in parts.values()]
