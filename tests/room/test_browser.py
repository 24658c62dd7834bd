"""A browser holds a turn: the page of examples/room, LiveKit's own client, a recorded voice."""

from __future__ import annotations

import wave
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from browser import browsing, chromium

from room.server import RoomServer
from room.talk import browser_client, page_served
from room.worker import working
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.words import words

pytestmark = pytest.mark.room

_ENERGY = """(async () => {
  for (const person of room.remoteParticipants.values())
    for (const { track } of person.trackPublications.values())
      for (const [, stat] of await track.receiver.getStats())
        if (stat.type === 'inbound-rtp') return stat.totalAudioEnergy;
})()"""
_WATCH = """window.states = []; new MutationObserver(() =>
  states.push(document.getElementById('state').dataset.state)
).observe(document.getElementById('state'), { attributes: true })"""


def microphone(path: Path, pcm: PCM) -> Path:
    """A WAV for the browser: quiet, then the line, then quiet for a long time."""
    noise = np.random.default_rng(0).normal(0, 3, RATE * 60).astype(np.int16)
    noise[RATE * 6 : RATE * 6 + len(pcm)] += pcm
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(noise.tobytes())
    return path


async def test_a_browser_talks_to_the_agent_and_shows_state_and_transcript(
    server: RoomServer, clips: Mapping[str, PCM], tmp_path: Path
) -> None:
    if chromium() is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    if browser_client() is None:
        pytest.skip("livekit-client is not there: npm is missing, or reaches no registry")
    voice = microphone(tmp_path / "voice.wav", clips["command"])
    with working(server) as worker, page_served(server) as page:
        async with browsing(page.url, voice) as browser:
            await browser.until("document.getElementById('token').value")
            await browser.run(_WATCH)
            await browser.run("document.getElementById('go').click()")
            await browser.until("document.getElementById('state').dataset.state === 'listening'")
            await browser.until("document.body.innerText.includes('reached the place.')", 40.0)
            await browser.until("document.getElementById('state').dataset.state === 'listening'")
            (tmp_path / "page.png").write_bytes(await browser.screenshot())
            lines = await browser.run(
                "[...document.querySelectorAll('#talk li')].map(l => "
                "[l.className, l.lastChild.data.trim()])"
            )
            states = await browser.run("states")
            energy = await browser.run(_ENERGY)
    assert [who for who, _ in lines] == ["me", "agent", "agent"]
    assert words(lines[0][1]) == words("Go forward ten meters.")
    assert lines[1:] == [
        ["agent", "Going forward ten meters."],
        ["agent", "I have reached the place."],
    ]
    assert {"thinking", "tool_running", "speaking", "listening"} <= set(states)  # of the flow
    assert energy > 0.001  # the voice came out of the browser's loudspeaker
    assert worker.errors == []
