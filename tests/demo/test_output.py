"""The audio output that paces, pauses and remembers, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import numpy as np
import pytest
from livekit import rtc
from livekit.agents.voice import io

from turnfsm.runtime.demo.audio import WavOutput
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.speech import RATE
from turnfsm.runtime.testing.clock import run

T = TypeVar("T")

HZ = 22_050
Log = list[tuple[float, str, float, bool]]


class Room:
    """An audio output and a log of its playback events: time, name, position, interrupted."""

    def __init__(self, speed: float = 1.0) -> None:
        self.pace = Pace(speed)
        self.output = WavOutput(self.pace, rate=HZ, words_in=lambda _, played: f"{played} bytes")
        self.log: Log = []
        self.words: list[str | None] = []
        self.output.on("playback_started", self._started)
        self.output.on("playback_finished", self._finished)

    def _started(self, _event: io.PlaybackStartedEvent) -> None:
        self.log.append((round(self.pace.now(), 2), "started", 0.0, False))

    def _finished(self, event: io.PlaybackFinishedEvent) -> None:
        position = round(event.playback_position, 2)
        self.log.append((round(self.pace.now(), 2), "finished", position, event.interrupted))
        self.words.append(event.synchronized_transcript)

    async def speak(self, seconds: float, level: int = 1000) -> None:
        """Hand over an utterance, much faster than it plays."""
        samples = round(seconds * HZ)
        pcm = np.full(samples, level, np.int16).tobytes()
        await self.output.capture_frame(rtc.AudioFrame(pcm, HZ, 1, samples))
        self.output.flush()

    async def until(self, moment: float) -> None:
        """Wait for a moment of conversation time."""
        await self.pace.sleep(moment - self.pace.now())


def play(scene: Callable[[Room], Awaitable[T]], speed: float = 1.0) -> tuple[Room, T]:
    """Run a scene in virtual time and close the room."""

    async def main() -> tuple[Room, T]:
        room = Room(speed)
        room.pace.now()
        result = await scene(room)
        await room.output.aclose()
        return room, result

    return run(main())


@pytest.mark.parametrize("speed", [0.5, 1.0, 4.0])
def test_plays_at_the_pace(speed: float) -> None:
    """A second handed over at once is heard for a second of conversation."""

    async def scene(room: Room) -> float:
        await room.until(0.5)
        await room.speak(1.0)
        event = await room.output.wait_for_playout()
        assert event.playback_position == pytest.approx(1.0)
        return asyncio.get_running_loop().time()

    room, loop_time = play(scene, speed)
    assert room.log == [(0.5, "started", 0.0, False), (1.5, "finished", 1.0, False)]
    assert loop_time == pytest.approx(1.5 / speed, abs=0.01)


def test_pause_holds_and_resume_goes_on() -> None:
    """Nothing is lost and nothing is heard twice; the end comes later by the pause."""

    async def scene(room: Room) -> list[bool]:
        await room.speak(1.0)
        await room.until(0.4)
        sounding = [room.output.sounding]
        room.output.pause()
        room.output.pause()  # the framework repeats itself
        await room.until(2.0)
        sounding.append(room.output.sounding)
        room.output.resume()
        await room.until(2.2)
        sounding.append(room.output.sounding)
        await room.output.wait_for_playout()
        return [*sounding, room.output.sounding]

    room, sounding = play(scene)
    assert sounding == [True, False, True, False]
    assert room.log == [(0.0, "started", 0.0, False), (2.6, "finished", 1.0, False)]
    first, second = room.output.heard
    assert (first.segment, second.segment) == (0, 0)
    assert (first.at, first.end) == pytest.approx((0.0, 0.4), abs=0.021)
    assert (second.at, second.end) == pytest.approx((2.0, 2.6), abs=0.021)
    assert len(first.samples) + len(second.samples) == HZ


def test_clear_interrupts_at_what_was_heard() -> None:
    """The end is reported at once, with the position, and only once."""

    async def scene(room: Room) -> None:
        await room.speak(5.0)
        await room.until(1.0)
        room.output.clear_buffer()
        assert not room.output.sounding
        room.output.clear_buffer()
        room.output.flush()
        await room.until(3.0)

    room, _ = play(scene)
    assert room.log == [(0.0, "started", 0.0, False), (1.0, "finished", 1.0, True)]
    assert room.words == [f"{2 * HZ} bytes"]


def test_clear_while_paused() -> None:
    """The order of a barge-in: pause, clear, resume; the next utterance starts by itself."""

    async def scene(room: Room) -> None:
        await room.speak(5.0)
        await room.until(1.0)
        room.output.pause()
        await room.until(1.5)
        room.output.clear_buffer()
        room.output.resume()
        await room.until(2.0)
        await room.speak(0.5)
        await room.output.wait_for_playout()

    room, _ = play(scene)
    assert room.log == [
        (0.0, "started", 0.0, False),
        (1.5, "finished", 1.0, True),
        (2.0, "started", 0.0, False),
        (2.5, "finished", 0.5, False),
    ]


def test_nothing_to_end_reports_nothing() -> None:
    """Flush and clear without an utterance are not playback; more ends than starts would warn."""

    async def scene(room: Room) -> None:
        room.output.flush()
        room.output.clear_buffer()
        room.output.resume()
        await room.until(1.0)

    room, _ = play(scene)
    assert room.log == []


def test_every_utterance_ends_once() -> None:
    """Two that wait in a row play without a gap; a clear ends both, heard or not."""

    async def scene(room: Room) -> None:
        await room.speak(0.5)
        await room.speak(0.5)
        await room.output.wait_for_playout()
        await room.speak(2.0)
        await room.speak(2.0)
        await room.until(1.5)
        room.output.clear_buffer()
        await room.output.wait_for_playout()

    room, _ = play(scene)
    ends = [entry for entry in room.log if entry[1] == "finished"]
    assert ends == [
        (0.5, "finished", 0.5, False),
        (1.0, "finished", 0.5, False),
        (1.5, "finished", 0.5, True),
        (1.5, "finished", 0.0, True),
    ]


def test_held_first_frame_is_not_heard() -> None:
    """What is handed over during a pause starts with the resume, not before."""

    async def scene(room: Room) -> bool:
        room.output.pause()
        await room.speak(0.5)
        await room.until(1.0)
        held = not room.output.sounding and not room.output.heard
        room.output.resume()
        await room.output.wait_for_playout()
        return held

    room, held = play(scene)
    assert held
    assert room.log == [(1.0, "started", 0.0, False), (1.5, "finished", 0.5, False)]


def test_slow_synthesis_leaves_a_gap_and_one_utterance() -> None:
    """Audio that comes late is heard late; the utterance goes on until its flush."""

    async def scene(room: Room) -> None:
        half = rtc.AudioFrame(np.full(HZ // 2, 9, np.int16).tobytes(), HZ, 1, HZ // 2)
        await room.output.capture_frame(half)
        await room.until(2.0)
        await room.output.capture_frame(half)
        room.output.flush()
        await room.output.wait_for_playout()

    room, _ = play(scene)
    assert room.log == [(0.0, "started", 0.0, False), (2.5, "finished", 1.0, False)]
    spans = [(round(heard.at, 1), round(heard.end, 1)) for heard in room.output.heard]
    assert spans == [(0.0, 0.5), (2.0, 2.5)]


def test_track_has_every_sound_at_its_time() -> None:
    """The recorded track is silent but where something was heard."""

    async def scene(room: Room) -> None:
        await room.until(1.0)
        await room.speak(0.5, level=1000)
        await room.until(3.0)
        await room.speak(0.5, level=2000)
        await room.output.wait_for_playout()

    room, _ = play(scene, speed=3.0)
    track = room.output.track()

    def level(moment: float) -> float:
        return float(np.median(np.abs(track[round(moment * RATE) :][: RATE // 100])))

    levels = [level(moment) for moment in (0.5, 1.25, 2.0, 3.25)]
    assert levels == pytest.approx([0, 1000, 0, 2000], abs=5)
