"""The audio output: a filter of the output transport, which can hold back audio."""

from __future__ import annotations

import asyncio

from pipecat.audio.filters.base_audio_filter import BaseAudioFilter
from pipecat.frames.frames import FilterControlFrame

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
        self._per_second = 0
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
        now = asyncio.get_running_loop().time()
        return self._waited + (now - self._closed_at if self.closed else 0.0)

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
        the meantime."""
        if self._inner is not None:
            audio = await self._inner.filter(audio)
        step = self._conductor.floor.step if self._conductor is not None else None
        seconds = len(audio) / self._per_second
        return audio if await self.passes(self._conductor, step, seconds) else b""

    # -- the port

    def pause(self, *, heard: bool) -> None:
        if self._conductor is not None and not self.closed:
            self._closed_at = asyncio.get_running_loop().time()
            super().pause(heard=heard)

    def resume(self, *, heard: bool) -> None:
        if self.closed:
            self._waited = self.waited
            super().resume(heard=heard)
