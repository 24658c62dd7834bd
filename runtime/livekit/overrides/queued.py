"""LiveKit's output in a room, when it is paused, drops the audio that it has queued: up to 0.2 s,
which nobody hears. Here this audio is played when the output resumes."""

from __future__ import annotations

from collections import deque
from typing import Any

from livekit import rtc
from livekit.agents.voice.io import AudioOutput

__all__ = ["keep_queued"]

_NAMES = (
    *("_audio_source", "_interrupted_event", "_run_offset"),
    *("_source_discarded_duration", "_source_pushed_duration"),
)


def keep_queued(output: AudioOutput) -> None:
    """Let an output in a room play what it had queued when it was paused. Others stay."""
    sink: Any = output
    while sink.next_in_chain is not None:
        sink = sink.next_in_chain
    in_a_room = all(hasattr(sink, name) for name in _NAMES)
    if in_a_room and not isinstance(sink._audio_source, _Source):
        sink._audio_source = _Source(sink)


class _Source:
    """The audio source of an output in a room. It knows what is queued.

    Attributes:
        output: The output.
        queued: What is queued.
        next: What is queued next.
    """

    def __init__(self, output: Any) -> None:
        self.output = output
        self._source = output._audio_source
        self.queued: deque[rtc.AudioFrame] = deque()
        self.next: deque[rtc.AudioFrame] = deque()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        """Queue what the last pause has dropped, and this frame, which the output has counted."""
        self.output._source_pushed_duration -= frame.duration
        self.next.append(frame)
        while self.next:
            one = self.next.popleft()
            self.output._source_pushed_duration += one.duration
            self.queued.append(one)
            await self._source.capture_frame(one)
            self._forget_played()

    def clear_queue(self) -> None:
        """Clear the queue. What a pause has dropped counts as if it had not come yet."""
        output = self.output
        if output._interrupted_event.is_set():
            self.next.clear()
        else:
            self._forget_played()
            self.next.extendleft(reversed(self.queued))
            output._source_pushed_duration -= sum(one.duration for one in self.queued)
            output._source_discarded_duration = 0.0
            output._run_offset = output._source_pushed_duration
        self.queued.clear()
        self._source.clear_queue()

    def _forget_played(self) -> None:
        played = sum(one.duration for one in self.queued) - self._source.queued_duration
        while self.queued and played > 0:
            first = self.queued.popleft()
            if first.duration > played:
                self.queued.appendleft(_without(first, played))
            played -= first.duration


def _without(frame: rtc.AudioFrame, seconds: float) -> rtc.AudioFrame:
    """The frame without its first seconds."""
    samples = round(seconds * frame.sample_rate)
    rest = bytes(frame.data[samples * frame.num_channels :])
    left = frame.samples_per_channel - samples
    return rtc.AudioFrame(rest, frame.sample_rate, frame.num_channels, left)
