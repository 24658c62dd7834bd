"""The audio output: a filter of the output transport, which can hold back audio."""

from __future__ import annotations

import asyncio

from pipecat.audio.filters.base_audio_filter import BaseAudioFilter
from pipecat.frames.frames import FilterControlFrame

from turnfsm.fsm.sound import faded
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.host.output import PausableOutput

__all__ = ["Tap"]

_SAMPLE = 2  # bytes


class Tap(PausableOutput, BaseAudioFilter):
    """The `Output`. It filters every chunk of audio, in order, right before the chunk is
    written.

    Attributes:
        installed: A transport has started it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._inner: BaseAudioFilter | None = None
        self._conductor: Conductor | None = None
        self._waited, self._closed_at = 0.0, 0.0
        self._per_second, self._plays_until, self._fades_in = 0, 0.0, False
        self.installed = False

    def wrap(self, inner: BaseAudioFilter | None) -> None:
        """Run the application's own filter first."""
        self._inner = inner

    def govern(self, conductor: Conductor) -> None:
        """Report to this conductor from now on."""
        self._conductor = conductor

    def release(self) -> None:
        """The conversation is over: let remaining audio play."""
        self._conductor = None
        self.resume(heard=False)

    # -- for frames that are timed with the audio

    @property
    def waited(self) -> float:
        """Seconds for which audio was held back so far."""
        return self._waited + (max(self._now() - self._closed_at, 0.0) if self.closed else 0.0)

    @property
    def silent(self) -> bool:
        """It is paused, and what was played before has ended."""
        return self.closed and self._now() > self._closed_at

    # -- Pipecat

    async def start(self, sample_rate: int) -> None:
        self.installed, self._per_second = True, sample_rate * _SAMPLE
        if self._inner is not None:
            await self._inner.start(sample_rate)

    async def stop(self) -> None:
        self.release()
        if self._inner is not None:
            await self._inner.stop()

    async def process_frame(self, frame: FilterControlFrame) -> None:
        """Pass settings to the application's own filter."""
        if self._inner is not None:
            await self._inner.process_frame(frame)

    async def filter(self, audio: bytes) -> bytes:
        """Return the chunk when it may be played, or nothing if it was dropped or interrupted in
        the meantime. The first one after a pause begins fades out; the next one fades in."""
        if self._inner is not None:
            audio = await self._inner.filter(audio)
        step = self._conductor.floor.step if self._conductor is not None else None
        seconds = len(audio) / self._per_second
        ends = self.closed and self._now() < self._plays_until + seconds
        if not await self.passes(self._conductor, step, seconds, ends=ends):
            return b""
        if ends or self._fades_in:
            audio = faded(audio, rises=not ends)
        self._fades_in, until = ends, self._now() + seconds
        if ends:
            self._plays_until, self._closed_at = 0.0, until
        else:
            self._plays_until = until
        return audio

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    # -- the port

    def pause(self, *, heard: bool) -> None:
        if self._conductor is not None and not self.closed:
            self._closed_at = max(self._now(), self._plays_until)
            super().pause(heard=heard)

    def resume(self, *, heard: bool) -> None:
        if self.closed:
            self._waited = self.waited
            super().resume(heard=heard)

    def drop(self) -> None:
        super().drop()
        self._plays_until, self._fades_in = 0.0, False
