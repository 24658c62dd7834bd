"""A network that loses, delays and reorders packets, both ways."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from network import lossy, why_not

from room.caller import Caller
from room.judge import transcribed
from room.server import serving
from room.worker import working
from turnfsm.runtime.demo.speech import PCM
from turnfsm.runtime.demo.words import word_errors

pytestmark = pytest.mark.room


@pytest.mark.usefixtures("server")
async def test_a_conversation_survives_loss_and_jitter(clips: Mapping[str, PCM]) -> None:
    """Five packets of a hundred are lost each way, and they come 20 to 60 ms late."""
    if why := why_not():
        pytest.skip(why)
    with (
        lossy(delay=0.02, jitter=0.04) as network,
        serving(network.address, prefix=network.prefix) as server,
        working(server, prefix=network.prefix) as worker,
    ):
        async with Caller(server, "lossy") as caller:
            await caller.agent_comes()
            network.loss = 0.05
            await caller.say(clips["command"])
            await caller.text_seen("I have reached the place.")
            await caller.silence(0.6)
            await caller.say(clips["question"])
            await caller.until(lambda: caller.ear.sounding, why="no answer was heard")
            await caller.rest(2.0)
            begun = caller.pace.now()
            await caller.say(clips["barge_in"])
            await caller.text_seen("Okay, I will stop talking.")
            await caller.silence(0.6)
        heard = await transcribed(caller.ear.track(), caller.ear.sounds())
    assert network.dropped > 40
    stopped = max(s.end for s in caller.ear.sounds() if s.start < begun + 0.5)
    assert stopped - begun < 2.0
    said = " ".join(text.text for text in caller.agent_texts)
    assert word_errors(said, " ".join(heard)).rate < 0.25, heard
    understood = caller.heard_of("caller")
    assert word_errors("go forward ten meters", understood[0]).rate < 0.3, understood
    assert worker.errors == []
