"""A caller of the tests in a room who types, and reads what the agent says."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from livekit import rtc

from room.server import RoomServer

__all__ = ["Typist"]


class Typist:
    """A caller who types, and reads what the agent says."""

    def __init__(self, server: RoomServer, room: str) -> None:
        self._server, self._room = server, room
        self.room = rtc.Room()
        self._source = rtc.AudioSource(48_000, 1)
        self.seen: list[str] = []
        self.agents: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Typist:
        self.room.register_text_stream_handler("lk.transcription", self._transcript)
        token = self._server.token(self._room, "caller")
        await self.room.connect(self._server.url, token)
        # silent, but there: else media are connected with the agent's first track only
        microphone = rtc.LocalAudioTrack.create_audio_track("microphone", self._source)
        await self.room.local_participant.publish_track(microphone)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.room.disconnect()
        await self._source.aclose()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def types(self, text: str) -> None:
        """Into the room's chat."""
        await self.room.local_participant.send_text(text, topic="lk.chat")

    async def reads(self, part: str, seconds: float) -> bool:
        """Wait until the agent has said this."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            if any(part in text for text in self.seen):
                return True
            await asyncio.sleep(0.05)
        return False

    def _transcript(self, reader: rtc.TextStreamReader, identity: str) -> None:
        task = asyncio.ensure_future(self._read(reader, identity))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, reader: rtc.TextStreamReader, identity: str) -> None:
        self.agents.add(identity)
        place = len(self.seen)
        self.seen.append("")
        with suppress(rtc.StreamError):  # its agent has died
            async for piece in reader:
                self.seen[place] += piece
