"""The microphone made of clips, in virtual time."""

import asyncio

import numpy as np
import pytest

from turnfsm.runtime.demo.audio import WavInput
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.testing.clock import run

TONE = np.full(RATE // 2, 5000, np.int16)  # half a second


async def listen(microphone: WavInput, frames: int) -> list[PCM]:
    """So many frames, as samples."""
    taken = [await anext(microphone) for _ in range(frames)]
    return [np.frombuffer(frame.data, np.int16) for frame in taken]


@pytest.mark.parametrize("speed", [0.5, 1.0, 4.0])
def test_frames_come_at_the_pace(speed: float) -> None:
    """A hundred frames of 10 ms are a second of conversation, at any speed."""

    async def main() -> tuple[float, float, int]:
        pace = Pace(speed)
        microphone = WavInput(pace)
        frames = await listen(microphone, 100)
        return asyncio.get_running_loop().time(), pace.now(), sum(map(len, frames))

    loop_time, conversation, samples = run(main())
    assert loop_time == pytest.approx(1 / speed)
    assert conversation == pytest.approx(1.0)
    assert samples == RATE


def test_late_listener_catches_up() -> None:
    """The pace is absolute: a second that nobody listened is delivered at once, not shifted."""

    async def main() -> tuple[float, float]:
        pace = Pace()
        microphone = WavInput(pace)
        await listen(microphone, 10)
        await asyncio.sleep(1.0)
        await listen(microphone, 100)
        caught_up = pace.now()
        await listen(microphone, 10)
        return caught_up, pace.now()

    assert run(main()) == pytest.approx((1.1, 1.2))


def test_clip_is_spoken_when_it_is_said() -> None:
    """It starts with the next frame and resolves with the time of its last sample."""

    async def main() -> tuple[float, PCM]:
        microphone = WavInput(Pace(2.0), noise=0.0)
        await listen(microphone, 20)
        spoken = microphone.say(TONE)
        await listen(microphone, 80)
        return spoken.result(), microphone.track()

    end, track = run(main())
    assert end == pytest.approx(0.7)
    loud = np.flatnonzero(track)
    assert (loud[0], loud[-1]) == (RATE // 5, RATE // 5 + len(TONE) - 1)
    assert len(track) == RATE


def test_clips_queue() -> None:
    """A clip that is said during another one follows it without a gap."""

    async def main() -> tuple[float, float, PCM]:
        microphone = WavInput(Pace(), noise=0.0)
        first, second = microphone.say(TONE), microphone.say(-TONE)
        await listen(microphone, 101)
        return first.result(), second.result(), microphone.track()

    first, second, track = run(main())
    assert (first, second) == pytest.approx((0.5, 1.0))
    assert list(track[:RATE]) == [*TONE, *-TONE]


def test_silence_is_faint_noise_and_always_the_same() -> None:
    """Between clips there is noise, far below speech, equal from run to run."""

    async def main() -> PCM:
        microphone = WavInput(Pace(), seed=7)
        await listen(microphone, 150)
        return microphone.track()

    track = run(main())
    assert 0 < np.abs(track).max() < 50
    assert (track == run(main())).all()


def test_loud_clips_do_not_wrap_around() -> None:
    """Noise on top of full scale saturates instead of changing sign."""

    async def main() -> PCM:
        microphone = WavInput(Pace(), noise=2000.0)
        microphone.say(np.full(RATE // 10, 32767, np.int16))
        await listen(microphone, 10)
        return microphone.track()

    assert run(main()).min() > 20_000


def test_close_ends_the_stream_and_what_was_not_said() -> None:
    """The framework's reader stops, and nobody waits for a clip forever."""

    async def main() -> tuple[int, bool]:
        microphone = WavInput(Pace())
        asyncio.get_running_loop().call_later(0.205, microphone.close)
        unsaid = microphone.say(np.tile(TONE, 4))
        frames = [frame async for frame in microphone]
        return len(frames), unsaid.cancelled()

    assert run(main()) == (20, True)


def test_speed_must_be_positive() -> None:
    """A pace that stands still or runs back is refused."""
    for speed in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="speed must be above 0"):
            Pace(speed)
