"""LiveKit's output in a room, paused by the flow: the caller misses nothing of what is said."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from livekit import rtc
from livekit.agents.voice.io import PlaybackFinishedEvent
from livekit.agents.voice.room_io._output import _ParticipantAudioOutput

from turnfsm.runtime.livekit.overrides.output import FADE, StepOutput

RATE, FRAME = 8_000, 400
SAID = np.arange(2 * RATE, dtype=np.int16)
"""Two seconds; each sample is another one."""


class Queue:
    """An audio source that plays in virtual time, and queues 0.2 s, as LiveKit's does.

    Attributes:
        heard: The samples that were played.
    """

    def __init__(self, channels: int = 1) -> None:
        self.heard: list[int] = []
        self._rate = RATE * channels
        self._samples: list[int] = []
        self._since = 0.0

    def _play(self) -> None:
        now = asyncio.get_running_loop().time()
        played = min(len(self._samples), round((now - self._since) * self._rate))
        self.heard += self._samples[:played]
        del self._samples[:played]
        self._since = now

    @property
    def queued_duration(self) -> float:
        self._play()
        return len(self._samples) / self._rate

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        self._play()
        self._samples += list(frame.data)
        await asyncio.sleep(max(0.0, len(self._samples) / self._rate - 0.2))

    async def wait_for_playout(self) -> None:
        await asyncio.sleep(self.queued_duration)
        self._play()

    def clear_queue(self) -> None:
        self._play()
        self._samples.clear()

    async def aclose(self) -> None:
        """Nothing is open."""


class Room:
    """An output in a room, without the room."""

    def __init__(self, channels: int = 1) -> None:
        self.channels = channels
        options = rtc.TrackPublishOptions()
        self.output: Any = _ParticipantAudioOutput(
            None,  # type: ignore[arg-type]
            sample_rate=RATE,
            num_channels=channels,
            track_publish_options=options,
        )
        self.queue = Queue(channels)
        self.output._audio_source = self.queue
        self.output._subscribed_fut.set_result(None)
        self.ends: asyncio.Queue[PlaybackFinishedEvent] = asyncio.Queue()
        self.output.on("playback_finished", self.ends.put_nowait)

    async def says(self, samples: Any) -> None:
        size = FRAME * self.channels
        for at in range(0, len(samples), size):
            data = samples[at : at + size].tobytes()
            await self.output.capture_frame(rtc.AudioFrame(data, RATE, self.channels, FRAME))
        self.output.flush()


@contextmanager
def room(channels: int = 1) -> Iterator[Room]:
    it = Room(channels)
    it.output._forwarding_task = asyncio.ensure_future(it.output._forward_audio())
    yield it
    it.output._forwarding_task.cancel()


@pytest.mark.parametrize("pauses", [[(0.5, 0.5)], [(0.5, 0.02)], [(0.5, 0.5), (0.03, 0.5)]])
async def test_a_pause_loses_no_audio(virtual_time: Any, pauses: list[tuple[float, float]]) -> None:
    """A caller who says mhm hears every sample, once, and the history has all of them."""
    with room() as it:
        step = StepOutput(None, it.output)
        await it.says(SAID)
        for after, seconds in pauses:
            await asyncio.sleep(after)
            step.pause(heard=False)
            await asyncio.sleep(seconds)
            step.resume(heard=False)
        end = await it.ends.get()
        heard = np.array(it.queue.heard)
        assert len(heard) == len(SAID)
        faded = heard != SAID
        assert (heard <= SAID).all()
        assert faded.sum() <= 2 * len(pauses) * FADE * RATE
        assert end.playback_position == pytest.approx(2.0)
        assert not end.interrupted


@pytest.mark.parametrize("channels", [1, 2])
async def test_a_pause_fades(virtual_time: Any, channels: int) -> None:
    """No sample is far from the one before it, as in a click."""
    with room(channels) as it:
        step = StepOutput(None, it.output)
        await it.says(np.full(2 * RATE * channels, 10_000, dtype=np.int16))
        await asyncio.sleep(0.5)
        step.pause(heard=False)
        await asyncio.sleep(0.5)
        assert it.queue.queued_duration == 0
        silent = len(it.queue.heard)
        step.resume(heard=False)
        await it.ends.get()
        heard = np.array(it.queue.heard)
        assert len(heard) == 2 * RATE * channels
        assert heard[silent - 1] == heard[silent] == 0
        assert abs(np.diff(heard[::channels])).max() < 2 * 10_000 / (FADE * RATE)


async def test_an_output_that_closes_during_a_fade_leaves_no_task(virtual_time: Any) -> None:
    class Slow(Queue):
        async def capture_frame(self, frame: rtc.AudioFrame) -> None:
            await super().capture_frame(frame)
            await asyncio.sleep(1.0 if frame.duration == FADE else 0.0)

    with room() as it:
        it.queue = it.output._audio_source = Slow()
        step = StepOutput(None, it.output)
        await it.says(SAID)
        await asyncio.sleep(0.5)
        step.pause(heard=False)
        await asyncio.sleep(0)
        await it.output.aclose()
        names = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
        assert not any("capture_frame" in name for name in names)


@pytest.mark.parametrize("paused", [0.0, 0.04, 0.06, 0.5])
async def test_an_interruption_ends_what_is_queued(virtual_time: Any, paused: float) -> None:
    """Nothing of it is heard with the next speech, and the history has what was heard."""
    with room() as it:
        step = StepOutput(None, it.output)
        await it.says(SAID)
        await asyncio.sleep(0.5)
        step.pause(heard=False)
        await asyncio.sleep(paused)
        step.drop()
        end = await it.ends.get()
        heard = len(it.queue.heard) / RATE
        assert end.playback_position == pytest.approx(heard, abs=0.01)
        assert end.interrupted
        step.resume(heard=False)
        before = list(it.queue.heard)
        await it.says(SAID[:FRAME] + 20_000)
        await it.ends.get()
        assert it.queue.heard == [*before, *(SAID[:FRAME] + 20_000).tolist()]
