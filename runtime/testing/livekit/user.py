"""A scripted user, and the microphone."""

from __future__ import annotations

import asyncio
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable
from math import inf

import attrs
from livekit import rtc
from livekit.agents.voice import io

from turnfsm.runtime.testing.errors import KitError
from turnfsm.runtime.testing.script import Sound

__all__ = ["FRAME", "RATE", "SETTLED", "ScriptedAudioInput", "ScriptedUser", "Utterance", "user_of"]

RATE = 16_000
FRAME = 0.05
"""Length of a microphone frame while the user speaks, in seconds."""

SETTLED = 1.0
"""Seconds after a sound until the microphone's frames get longer."""

_LONGEST = 10  # how many frames are merged into one during silence
_SAMPLES = int(RATE * FRAME)


@attrs.frozen
class Utterance:
    """One sound of the user.

    Attributes:
        at: When it begins, in seconds from the start of the stage.
        duration: Seconds.
        text: The text; empty for a noise.
        stt_delay: Seconds from its end to the final transcript; None: no transcript comes.
        interims: Interim transcripts: seconds from the start of the sound, and the text.

    Example:
        >>> from turnfsm.testing import Utterance
        >>> Utterance(at=1.0, duration=0.6, text="hello there").end
        1.6
    """

    at: float
    duration: float
    text: str = ""
    stt_delay: float | None = 0.3
    interims: tuple[tuple[float, str], ...] = ()

    @property
    def end(self) -> float:
        return self.at + self.duration

    def words_between(self, start: float, end: float) -> str:
        """The words whose middle lies between two offsets into this sound."""
        return spoken_between(self.text, self.duration, start, end)


def spoken_between(text: str, duration: float, start: float, end: float) -> str:
    """The words of `text`, spread evenly over `duration`, whose middle is in [start, end)."""
    words = text.split()
    each = duration / max(1, len(words))
    return " ".join(w for i, w in enumerate(words) if start <= (i + 0.5) * each < end)


class ScriptedUser:
    """The user's sounds. Times are seconds from the start of the stage.

    Example:
        >>> from turnfsm.testing import ScriptedUser
        >>> user = ScriptedUser().says("hello there", at=1.0).makes_noise(at=3.0, duration=0.4)
    """

    def __init__(self) -> None:
        self.utterances: list[Utterance] = []
        self._starts: list[tuple[float, int]] = []  # when each begins, and its code
        self.gaps: list[tuple[float, float]] = []
        """The spans without frames from the microphone: start and end."""
        self.waiting: set[asyncio.Future[None]] = set()
        """Callbacks for new sounds: they end a long frame of silence."""

    def says(
        self,
        text: str,
        *,
        at: float,
        duration: float | None = None,
        stt_delay: float | None = 0.3,
        interims: tuple[tuple[float, str], ...] = (),
    ) -> ScriptedUser:
        """Say `text`.

        Args:
            text: The text.
            at: In seconds.
            duration: In seconds; by default 0.3 per word.
            stt_delay: Seconds from the end of the sound to the final transcript; None: none comes.
            interims: Interim transcripts: seconds from the start of the sound, and the text.

        Returns:
            The user, so that calls can be chained.
        """
        seconds = duration if duration is not None else 0.3 * len(text.split())
        return self.makes(Utterance(at, seconds, text, stt_delay, interims))

    def makes_noise(self, *, at: float, duration: float) -> ScriptedUser:
        """Make a noise, such as a cough, which the VAD takes for speech."""
        return self.makes(Utterance(at, duration, "", None))

    def drops_out(self, *, at: float, duration: float) -> ScriptedUser:
        """Send no audio for some seconds, not even silence, as when the network is down."""
        self.gaps.append((at, at + duration))
        return self

    def makes(self, new: Utterance) -> ScriptedUser:
        """Make this sound."""
        for name, seconds in (("at", new.at), ("stt_delay", new.stt_delay or 0.0)):
            if not seconds >= 0:
                raise KitError(f"{new.text!r}: {name} is {seconds:g}; give seconds, 0 or more")
        if not new.duration > 0:
            why = "give words" if not new.text else "give seconds above 0"
            raise KitError(f"{new.text!r}: it takes {new.duration:g} s; {why}")
        for old in self.utterances:
            if new.at < old.end and old.at < new.end:
                raise KitError(
                    f"two sounds of the user overlap: {old.text!r} until {old.end:g} s and "
                    f"{new.text!r} from {new.at:g} s; move one of them"
                )
        self.utterances.append(new)
        insort(self._starts, (new.at, len(self.utterances)))
        for microphone in self.waiting:
            _wake(microphone)
        return self

    def code_at(self, t: float) -> int:
        """The utterance at `t`: 0 for silence, else 1 + its index."""
        place = bisect_right(self._starts, (t, len(self.utterances) + 1)) - 1
        if place < 0:
            return 0
        code = self._starts[place][1]
        return code if t < self.utterance(code).end else 0

    def utterance(self, code: int) -> Utterance:
        return self.utterances[code - 1]


def user_of(sounds: Iterable[Sound]) -> ScriptedUser:
    """A user who makes the sounds of a scenario."""
    user = ScriptedUser()
    for sound in sounds:
        if sound.says is not None:
            user.says(sound.says, at=sound.at, duration=sound.lasts, stt_delay=sound.stt_delay)
        else:
            user.makes_noise(at=sound.at, duration=sound.noise or 0.0)
    return user


class ScriptedAudioInput(io.AudioInput):
    """A microphone: one frame every `FRAME` seconds, with what `user` says then.

    In silence its frames are longer, up to half a second, so that tests are faster. They stay short
    until ``settled`` seconds after a sound, and none overlaps the next sound.

    Args:
        user: The user.
        settled: Seconds; longer than a VAD or model waits before it reports the end of a sound.

    Example:
        >>> from turnfsm.testing import ScriptedAudioInput, ScriptedUser
        >>> microphone = ScriptedAudioInput(ScriptedUser().says("hello", at=1.0))
    """

    def __init__(self, user: ScriptedUser, *, settled: float = SETTLED) -> None:
        super().__init__(label="ScriptedAudioInput")
        self._user = user
        self._settled = settled
        self._origin: float | None = None
        self._count = 0
        self._sounded = -inf  # the frame count at the last sound
        self._attached = True
        self.echo: Callable[[float], int] | None = None
        """The echoing utterance by time, on a line with echo."""

    def start(self, origin: float) -> None:
        """Begin the timeline at this loop time; before that the microphone is silent."""
        self._origin = origin

    def on_attached(self) -> None:
        self._attached = True

    def on_detached(self) -> None:
        """Frames are dropped, like those of a room when a session disables its input."""
        self._attached = False

    async def __anext__(self) -> rtc.AudioFrame:
        frame = await self._next()
        while not self._attached or self._dropped_out:
            frame = await self._next()
        return frame

    @property
    def _dropped_out(self) -> bool:
        t = self._count * FRAME
        return any(start < t <= end for start, end in self._user.gaps)

    async def _next(self) -> rtc.AudioFrame:
        loop = asyncio.get_running_loop()
        if self._origin is None:
            self._origin = loop.time()
        if silent := await self._silence(loop, self._origin):
            self._count += silent
            return _frame(0, 0, silent)
        begun = self._count * FRAME
        self._count += 1
        await asyncio.sleep(max(0.0, self._origin + begun + FRAME - loop.time()))
        t = begun + FRAME / 2
        code = self._user.code_at(t) or (self.echo(t) if self.echo is not None else 0)
        if code:
            self._sounded = self._count
        offset = int((t - self._user.utterance(code).at) / FRAME) if code else 0
        return _frame(code, offset)

    async def _silence(self, loop: asyncio.AbstractEventLoop, origin: float) -> int:
        """Wait during silence. Returns its length in frames; 0 for an ordinary frame."""
        begun, silent = self._count, 0
        if self.echo is not None or (begun - self._sounded) * FRAME < self._settled:
            return 0
        while silent < _LONGEST and not self._user.code_at((begun + silent + 0.5) * FRAME):
            silent += 1
        if silent < 2:
            return 0
        woken: asyncio.Future[None] = loop.create_future()
        timer = loop.call_at(origin + (begun + silent) * FRAME, _wake, woken)
        self._user.waiting.add(woken)
        try:
            await woken
        finally:
            timer.cancel()
            self._user.waiting.discard(woken)
        passed = int((loop.time() - origin) / FRAME + 1e-6)
        return min(silent, max(0, passed - begun))


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def silence() -> rtc.AudioFrame:
    """A frame without sound."""
    return _frame(0, 0)


def _frame(code: int, offset: int, length: int = 1) -> rtc.AudioFrame:
    mark = code.to_bytes(2, "little") + offset.to_bytes(2, "little")
    samples = length * _SAMPLES
    return rtc.AudioFrame(
        data=mark + bytes(2 * samples - len(mark)),
        sample_rate=RATE,
        num_channels=1,
        samples_per_channel=samples,
    )


def length_of(frame: rtc.AudioFrame) -> int:
    """How many times `FRAME` a frame is long."""
    return max(1, round(frame.samples_per_channel / _SAMPLES))


def code_of(frame: rtc.AudioFrame) -> int:
    """Which utterance a frame carries: 0 for silence, else 1 + its index."""
    return int(frame.data[0]) if len(frame.data) else 0


def offset_of(frame: rtc.AudioFrame) -> float:
    """Seconds from the start of its utterance to this frame."""
    return int(frame.data[1]) * FRAME if len(frame.data) > 1 else 0.0
