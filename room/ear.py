"""Records a track: samples, and the times at which it was audible."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
from attrs import define, field
from livekit import rtc

from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.testing.heard import Heard

__all__ = ["Ear"]

_FRAME = 0.01  # seconds
_LOUD = 150.0  # root mean square of a frame that is speech
_BREATH = 0.5  # seconds of silence inside of one sound: a comma of the voice lasts 0.4 s
_GONE = 0.5  # seconds without a frame that count as a gap


@define
class _Run:
    """Frames without a gap. libwebrtc plays them with the clock of a sound card. The earliest
    arrival tells when that clock began; all others may be late."""

    began: float
    frames: list[PCM] = field(factory=list)

    def due(self) -> float:
        return self.began + len(self.frames) * _FRAME


@define
class Ear:
    """Records one track at a time."""

    now: Callable[[], float]
    _runs: list[_Run] = field(factory=list)
    _listening: asyncio.Task[None] | None = None
    _loud: float = -1e9  # when it was last loud
    began: float = -1e9
    """When the last audible audio began."""

    @property
    def sounding(self) -> bool:
        """Whether speech is heard now."""
        return self.now() - self._loud < _BREATH

    @property
    def quiet_for(self) -> float:
        """Seconds since speech was heard."""
        return self.now() - self._loud

    def listen(self, track: rtc.Track) -> None:
        """Listen to this track from now on."""
        if self._listening is not None:
            self._listening.cancel()
        stream = rtc.AudioStream(track, sample_rate=RATE, num_channels=1, frame_size_ms=10)
        self._runs.append(_Run(self.now()))
        self._listening = asyncio.create_task(self._listen(stream), name="ear")

    async def aclose(self) -> None:
        """Stop listening."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def _listen(self, stream: rtc.AudioStream) -> None:
        try:
            async for event in stream:
                self.take(np.frombuffer(event.frame.data, np.int16).copy())
        finally:
            await stream.aclose()

    def take(self, pcm: PCM) -> None:
        """Hear 10 ms, which have just ended."""
        run, came = self._runs[-1] if self._runs else None, self.now() - _FRAME
        if run is None or not run.frames or came - run.due() > _GONE:
            self._runs.append(run := _Run(came))
        run.began = min(run.began, came - len(run.frames) * _FRAME)
        run.frames.append(pcm)
        if _power(pcm) > _LOUD:
            if not self.sounding:
                self.began = self.now()
            self._loud = self.now()

    def track(self) -> PCM:
        """The audio from conversation time 0, at RATE Hz."""
        runs = [run for run in self._runs if run.frames]
        track = np.zeros(round(max((r.due() for r in runs), default=0.0) * RATE) + RATE, np.int16)
        for run in runs:
            pcm, start = np.concatenate(run.frames), max(0, round(run.began * RATE))
            track[start : start + len(pcm)] = pcm[: len(track) - start]
        return track

    def sounds(self, breath: float = _BREATH) -> list[Heard]:
        """The times at which it was audible."""
        sounds: list[Heard] = []
        for run in self._runs:
            for number, pcm in enumerate(run.frames):
                if _power(pcm) <= _LOUD:
                    continue
                at = run.began + number * _FRAME
                if sounds and at - sounds[-1].end < breath:
                    sounds[-1] = Heard(sounds[-1].start, at + _FRAME)
                else:
                    sounds.append(Heard(at, at + _FRAME))
        return [sound for sound in sounds if sound.end - sound.start > 0.05]


def _power(pcm: PCM) -> float:
    return float(np.sqrt(np.mean(np.square(pcm.astype(np.float32))))) if len(pcm) else 0.0
