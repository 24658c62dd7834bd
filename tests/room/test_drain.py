"""A worker that is asked to end while it talks (SIGTERM): no call is lost, none is cut."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping

import pytest

from room.caller import Caller
from room.judge import transcribed
from room.server import RoomServer
from room.worker import working
from turnfsm.runtime.demo.speech import PCM
from turnfsm.runtime.demo.words import words

pytestmark = pytest.mark.room


async def test_a_drained_worker_finishes_its_call_and_the_other_takes_the_next(
    server: RoomServer, clips: Mapping[str, PCM]
) -> None:
    first, second = (f"{name}-{uuid.uuid4().hex[:8]}" for name in ("drained", "next"))
    with working(server) as one, working(server) as two:
        async with Caller(server, first) as caller:
            await caller.agent_comes()
            drained, other = (one, two) if one.serves(first) else (two, one)
            await caller.say(clips["question"])
            await caller.until(lambda: caller.ear.sounding, why="no answer was heard")
            drained.terminate()
            await asyncio.to_thread(drained.wait_for, "draining worker")
            async with Caller(server, second) as late:
                await late.agent_comes()
                await caller.text_seen("charge my battery")
                await caller.silence(0.6)
                await late.say(clips["command"])
                await caller.say(clips["command"])  # the drained worker still takes turns
                await late.text_seen("I have reached the place.")
                await caller.text_seen("I have reached the place.")
                await caller.silence(0.6)
                assert other.serves(second)
                assert not drained.serves(second)
                assert drained.process.poll() is None
        assert await asyncio.to_thread(drained.process.wait, 30) == 0
        heard = await transcribed(caller.ear.track(), caller.ear.sounds())
        understood = " ".join(words(" ".join(heard)))
        assert "clearer order" in understood
        assert "battery" in understood
        assert "reached the place" in understood
        assert one.errors == two.errors == []
