"""The track of the agent's backchannels."""

from __future__ import annotations

from collections.abc import Iterable

from livekit import rtc
from livekit.agents.utils.audio import AudioByteStream
from livekit.agents.voice import io

__all__ = ["BackchannelTrack"]

_RATE = 48_000
_PIECE = _RATE // 50


class BackchannelTrack(io.AudioOutput):
    """A track of the agent, beside that of its speech.

    Args:
        room: The room, which is connected.
    """

    def __init__(self, room: rtc.Room) -> None:
        capabilities = io.AudioOutputCapabilities(pause=False)
        super().__init__(label="backchannels", capabilities=capabilities)
        self._room, self._source = room, rtc.AudioSource(_RATE, 1)
        self._pieces = AudioByteStream(_RATE, 1, _PIECE)
        self._resampler: tuple[int, rtc.AudioResampler] | None = None
        self._sid: str | None = None

    async def publish(self) -> None:
        """Publish the track."""
        track = rtc.LocalAudioTrack.create_audio_track("backchannels", self._source)
        publication = await self._room.local_participant.publish_track(track)
        self._sid = publication.sid

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        for part in self._resampled(frame):
            await self._play(self._pieces.push(part.data))

    def flush(self) -> None:
        super().flush()
        self._pieces.clear()  # an incomplete piece

    def clear_buffer(self) -> None:
        self._pieces.clear()
        self._source.clear_queue()

    async def aclose(self) -> None:
        """Take the track out of the room."""
        if self._sid is not None and self._room.isconnected():
            await self._room.local_participant.unpublish_track(self._sid)
        await self._source.aclose()

    async def _play(self, pieces: Iterable[rtc.AudioFrame]) -> None:
        for piece in pieces:
            await self._source.capture_frame(piece)

    def _resampled(self, frame: rtc.AudioFrame) -> list[rtc.AudioFrame]:
        if (rate := frame.sample_rate) == _RATE:
            return [frame]
        if self._resampler is None or self._resampler[0] != rate:
            self._resampler = rate, rtc.AudioResampler(rate, _RATE)
        return self._resampler[1].push(frame)
