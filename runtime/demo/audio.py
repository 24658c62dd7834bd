"""A microphone that plays clips, and an audio output that records what was heard."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from attrs import define, field
from livekit import rtc
from livekit.agents import utils
from livekit.agents.voice import io

from .pace import Pace
from .speech import PCM, RATE
from .tape import BLOCK, PacedTape

__all__ = ["WavInput", "WavOutput"]

_FRAME = RATE // 100  # 10 ms


WordsIn: TypeAlias = Callable[[bytes | bytearray, int], str | None]
"""The words in the first so many bytes of samples."""


@define
class _Clip:
    pcm: PCM
    spoken: asyncio.Future[float]
    position: int = 0


class WavInput(io.AudioInput):
    """A live microphone: 10 ms frames at the given pace, with faint noise and the clips that are
    played.

    It never stops, because a VAD without frames never reports the end of speech.
    """

    def __init__(self, pace: Pace, *, noise: float = 3.0, seed: int = 0) -> None:
        super().__init__(label="WavInput")
        self._pace = pace
        self._noise = np.random.default_rng(seed).normal(0, noise, RATE).astype(np.int16)
        self._clips: deque[_Clip] = deque()
        self._frames: list[PCM] = []
        self._closed = False

    def say(self, pcm: PCM) -> asyncio.Future[float]:
        """Play a clip after the queued ones. Returns the conversation time of its end."""
        spoken: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._clips.append(_Clip(pcm, spoken))
        return spoken

    def close(self) -> None:
        """Send no more frames. Clips that were not played are cancelled."""
        self._closed = True
        while self._clips:
            self._clips.popleft().spoken.cancel()

    def track(self) -> PCM:
        """Everything that the microphone has picked up, from conversation time 0, at RATE Hz."""
        return np.concatenate([np.zeros(0, np.int16), *self._frames])

    async def __anext__(self) -> rtc.AudioFrame:
        due = (len(self._frames) + 1) * _FRAME / RATE  # once it has been spoken
        if (wait := due - self._pace.now()) > 0:
            await self._pace.sleep(wait)
        if self._closed:
            raise StopAsyncIteration
        pcm = self._next_frame()
        self._frames.append(pcm)
        return rtc.AudioFrame(pcm.tobytes(), RATE, 1, _FRAME)

    def _next_frame(self) -> PCM:
        offset = len(self._frames) * _FRAME % RATE
        sum_ = self._noise[offset : offset + _FRAME].astype(np.int32)
        if self._clips:
            clip = self._clips[0]
            part = clip.pcm[clip.position : clip.position + _FRAME]
            sum_[: len(part)] += part
            clip.position += _FRAME
            if clip.position >= len(clip.pcm):
                self._clips.popleft()
                if not clip.spoken.done():
                    clip.spoken.set_result(self._pace.now())
        return sum_.clip(-32768, 32767).astype(np.int16)


@define
class _Segment:
    """One utterance as the framework counts them: from its first frame to flush or clear."""

    captured: bytearray = field(factory=bytearray)
    played: int = 0  # bytes
    flushed: bool = False
    started: bool = False


class WavOutput(PacedTape, io.AudioOutput):
    """An audio output: plays 20 ms blocks at the given pace, can pause, and records what it plays.

    At the end of each utterance `words_in` returns the part of its text that was played. Without
    `words_in` the session assumes that the whole text was played.
    """

    def __init__(self, pace: Pace, *, rate: int, words_in: WordsIn | None = None) -> None:
        can = io.AudioOutputCapabilities(pause=True)
        PacedTape.__init__(self, pace, rate)
        io.AudioOutput.__init__(self, label="WavOutput", capabilities=can, sample_rate=rate)
        self._words_in: WordsIn = words_in or (lambda _captured, _played: None)
        self._open: deque[_Segment] = deque()  # captured, their end not yet reported
        self._paused = False
        self._changed = asyncio.Event()
        self._player: asyncio.Task[None] | None = None

    @property
    def sounding(self) -> bool:
        """Whether an utterance has started and is neither paused nor over."""
        return not self._paused and bool(self._open) and self._open[0].started

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        if not self._open or self._open[-1].flushed:
            self._open.append(_Segment())
        self._open[-1].captured += bytes(frame.data)
        if self._player is None:
            self._player = asyncio.create_task(self._play(), name="WavOutput")
        self._changed.set()

    def flush(self) -> None:
        super().flush()
        if self._open:
            self._open[-1].flushed = True
            self._changed.set()

    def clear_buffer(self) -> None:
        while self._open:
            self._finish(interrupted=True)

    def pause(self) -> None:
        super().pause()
        self._paused = True

    def resume(self) -> None:
        super().resume()
        self._paused = False
        self._changed.set()

    async def aclose(self) -> None:
        """End the player, and drop the audio that was not played."""
        if self._player is not None:
            await utils.aio.cancel_and_wait(self._player)

    async def _play(self) -> None:
        while True:
            self._until = self.pace.now()  # nothing is playing
            while self._playable():
                await self._step()
            self._changed.clear()
            await self._changed.wait()

    def _playable(self) -> bool:
        if self._paused or not self._open:
            return False
        head = self._open[0]
        return head.flushed or head.played < len(head.captured)

    async def _step(self) -> None:
        """Play a block, or report the end of a segment that has none left."""
        segment = self._open[0]
        size = 2 * round(self.rate * BLOCK)
        block = segment.captured[segment.played : segment.played + size]
        if not block:
            self._finish(interrupted=False)
            return
        segment.played += len(block)
        if not segment.started:
            segment.started = True
            self.on_playback_started(created_at=time.time())
        await self.play(block)

    def _finish(self, *, interrupted: bool) -> None:
        segment = self._open.popleft()
        self.utterance_ended()
        self.on_playback_finished(
            playback_position=segment.played / 2 / self.rate,
            interrupted=interrupted,
            synchronized_transcript=self._words_in(segment.captured, segment.played),
        )
