"""A browser holds a turn: the page of examples/room, LiveKit's own client, a recorded voice."""

from __future__ import annotations

import wave
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("playwright", reason="no playwright: pip install playwright")

from room.browser import browsing, chromium
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
    heard = f"--use-file-for-fake-audio-capture={voice}%noloop"
    with working(server) as worker, page_served(server) as served:
        async with browsing(heard) as page:
            await page.goto(served.url)
            await page.wait_for_function("document.getElementById('token').value")
            await page.evaluate(_WATCH)
            await page.click("#go")
            await page.wait_for_selector("#state[data-state=listening]")
            await page.wait_for_function(
                "document.body.innerText.includes('reached the place.')", timeout=40_000
            )
            await page.wait_for_selector("#state[data-state=listening]")
            lines = await page.evaluate(
                "[...document.querySelectorAll('#talk li')].map(l => "
                "[l.className, l.lastChild.data.trim()])"
            )
            states = await page.evaluate("states")
            energy = await page.evaluate(_ENERGY)
    assert [who for who, _ in lines] == ["me", "agent", "agent"]
    assert words(lines[0][1]) == words("Go forward ten meters.")
    assert lines[1:] == [
        ["agent", "Going forward ten meters."],
        ["agent", "I have reached the place."],
    ]
    assert {"thinking", "tool_running", "speaking", "listening"} <= set(states)  # of the flow
    assert energy > 0.001  # the voice came out of the browser's loudspeaker
    assert worker.errors == []
