"""A backchannel in a real room: it has a track of its own, beside that of the agent's speech."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from livekit import rtc

from room.server import RoomServer
from turnfsm.runtime.livekit.backchannel_track import BackchannelTrack

pytestmark = pytest.mark.room


async def test_a_participant_hears_it_on_a_track_of_its_own(server: RoomServer) -> None:
    name = f"backchannel-{uuid.uuid4().hex[:8]}"
    agent, page = rtc.Room(), rtc.Room()
    tracks: asyncio.Queue[Any] = asyncio.Queue()
    page.on(
        "track_subscribed", lambda track, publication, _: tracks.put_nowait((track, publication))
    )
    await agent.connect(server.url, server.token(name, "agent"))
    await page.connect(server.url, server.token(name, "page"))
    output = BackchannelTrack(agent)
    await output.publish()
    try:
        track, publication = await asyncio.wait_for(tracks.get(), 10.0)
        assert publication.name == "backchannels"
        stream = rtc.AudioStream(track)
        heard = asyncio.create_task(_loud(stream))
        for _ in range(150):
            await output.capture_frame(rtc.AudioFrame(b"\x00\x40\x00\xc0" * 240, 24_000, 1, 480))
        output.flush()
        await asyncio.wait_for(heard, 10.0)
        await stream.aclose()
    finally:
        await output.aclose()
        await page.disconnect()
        await agent.disconnect()


async def _loud(stream: rtc.AudioStream) -> None:
    async for event in stream:
        if max(abs(sample) for sample in event.frame.data) > 1_000:
            return
