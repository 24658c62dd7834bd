"""The audio output of a step: observed, paused and cleared as the flow decides."""

from __future__ import annotations

import asyncio
from array import array
from collections import deque
from typing import Any

import attrs
from livekit import rtc
from livekit.agents.utils import aio
from livekit.agents.voice.io import AudioOutput

__all__ = ["StepOutput"]

FADE = 0.03
"""Seconds in which audio fades out at a pause, and in afterwards."""


@attrs.frozen
class StepOutput:
    """The audio output of an agent's step.

    Attributes:
        agent: Its activity.
        audio: The audio output.
    """

    agent: Any
    audio: AudioOutput

    def __attrs_post_init__(self) -> None:
        _keep_queued(self.audio)

    @property
    def can_pause(self) -> bool:
        """It can pause, and the session resumes after false interruptions."""
        return self.audio.can_pause and self.agent.resumes

    def pause(self, *, heard: bool) -> None:
        """Pause. If it was playing, turn detection is told that the agent is silent."""
        self.audio.pause()
        if heard:
            self.agent.fallen_silent()

    def resume(self, *, heard: bool) -> None:
        """Resume. If it was playing, turn detection is told that the agent speaks again."""
        if heard:
            self.agent.heard_again()
        self.audio.resume()

    def end_playout(self, played: float) -> None:
        """Report the end of playout for an output that does not report it.

        Args:
            played: Seconds that may have been heard.
        """
        sink = _sink(self.audio)
        while _pending(sink):
            sink.on_playback_finished(playback_position=played, interrupted=True)

    def drop(self) -> None:
        """Clear the audio that was not played."""
        if _pending(self.audio):
            self.audio.flush()  # an output only reports the end of a complete segment
            self.audio.clear_buffer()


def _sink(audio: AudioOutput) -> AudioOutput:
    while (following := audio.next_in_chain) is not None:
        audio = following
    return audio


def _pending(audio: AudioOutput) -> int:
    return getattr(audio, "_pending_playback_count", 0)


_IN_A_ROOM = (
    *("_audio_source", "_interrupted_event", "_run_offset"),
    *("_source_discarded_duration", "_source_pushed_duration"),
)


def _keep_queued(output: AudioOutput) -> None:
    """Let an output in a room play, after a pause, what it had queued: up to 0.2 s, which it would
    drop. It fades out and in."""
    sink: Any = _sink(output)
    in_a_room = all(hasattr(sink, name) for name in _IN_A_ROOM)
    if in_a_room and not isinstance(sink._audio_source, _Source):
        sink._audio_source = _Source(sink)


class _Source:
    """The audio source of an output in a room. It knows what is queued.

    Attributes:
        output: The output.
        queued: What is queued.
        next: What is queued next.
        ends: Queues what fades out at a pause.
    """

    def __init__(self, output: Any) -> None:
        self.output = output
        self._source = output._audio_source
        self.queued: deque[rtc.AudioFrame] = deque()
        self.next: deque[rtc.AudioFrame] = deque()
        self.ends: asyncio.Future[None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        """Queue what the last pause has dropped, and this frame, which the output has counted."""
        self.output._source_pushed_duration -= frame.duration
        self.next.append(frame)
        if self.ends is not None:
            await self.ends
        while self.next:
            one = self.next.popleft()
            self.output._source_pushed_duration += one.duration
            self.queued.append(one)
            await self._source.capture_frame(one)
            self._forget_played()

    async def aclose(self) -> None:
        """The output closes, perhaps during a fade."""
        if self.ends is not None:
            await aio.cancel_and_wait(self.ends)
        await self._source.aclose()

    def clear_queue(self) -> None:
        """Clear the queue. What a pause has dropped counts as if it had not come yet, but for its
        beginning, which fades out."""
        output = self.output
        self._forget_played()
        dropped = list(self.queued)
        self.queued.clear()
        self._source.clear_queue()
        if output._interrupted_event.is_set():
            self.next.clear()
            return
        output._source_discarded_duration = 0.0
        if dropped:
            self._pause(rtc.combine_audio_frames(dropped))

    def _pause(self, dropped: rtc.AudioFrame) -> None:
        ends, rest = _split(dropped, FADE)
        begins, later = _split(rest, FADE)
        ends, begins = _faded(ends, rises=False), _faded(begins, rises=True)
        self.queued.append(ends)
        self.ends = asyncio.ensure_future(self._source.capture_frame(ends))
        self.next.extendleft([later, begins])
        self.output._source_pushed_duration -= rest.duration
        self.output._run_offset = self.output._source_pushed_duration - ends.duration

    def _forget_played(self) -> None:
        played = sum(one.duration for one in self.queued) - self._source.queued_duration
        while self.queued and played > 0:
            first = self.queued.popleft()
            if first.duration > played:
                self.queued.appendleft(_split(first, played)[1])
            played -= first.duration


def _split(frame: rtc.AudioFrame, seconds: float) -> tuple[rtc.AudioFrame, rtc.AudioFrame]:
    """The first seconds of the frame, and the rest."""
    samples = min(round(seconds * frame.sample_rate), frame.samples_per_channel)
    at, left = samples * frame.num_channels, frame.samples_per_channel - samples
    rate, channels = frame.sample_rate, frame.num_channels
    return (
        rtc.AudioFrame(bytes(frame.data[:at]), rate, channels, samples),
        rtc.AudioFrame(bytes(frame.data[at:]), rate, channels, left),
    )


def _faded(frame: rtc.AudioFrame, *, rises: bool) -> rtc.AudioFrame:
    rate, channels, count = frame.sample_rate, frame.num_channels, frame.samples_per_channel
    gains = (at // channels / max(count - 1, 1) for at in range(count * channels))
    pcm = (one * (gain if rises else 1 - gain) for one, gain in zip(frame.data, gains, strict=True))
    return rtc.AudioFrame(array("h", map(int, pcm)).tobytes(), rate, channels, count)
