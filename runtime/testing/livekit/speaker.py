"""An audio output on the loop's clock that records which words were heard."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from typing import Literal, get_args

import attrs
from livekit import rtc
from livekit.agents.voice import io

from turnfsm.fsm.errors import near, quoted
from turnfsm.runtime.testing.errors import KitError
from turnfsm.runtime.testing.heard import Heard

from .user import FRAME, ScriptedUser, Utterance, spoken_between
from .voice import ScriptedTTS

__all__ = ["Echo", "ScriptedAudioOutput", "check_faults"]


class Echo:
    """What the microphone picks up from the audio output while the user is silent.

    Args:
        user: The user, whose sounds cover the echo.
        output: The audio output.
    """

    def __init__(self, user: ScriptedUser, output: ScriptedAudioOutput) -> None:
        self._user, self._output = user, output
        self._code = 0

    def code_at(self, t: float) -> int:
        """The utterance that echoes at `t`, or 0. It grows while it plays."""
        if not self._output.sounding:
            self._code = 0
            return 0
        if not self._code:
            self._user.utterances.append(Utterance(t - FRAME / 2, FRAME))
            self._code = len(self._user.utterances)
        begun = self._user.utterance(self._code)
        seconds, words = t + FRAME / 2 - begun.at, self._output.words_now
        self._user.utterances[self._code - 1] = attrs.evolve(begun, duration=seconds, text=words)
        return self._code


Fault = Literal["no_start", "no_end"]


def check_faults(faults: Iterable[Fault]) -> frozenset[Fault]:
    """Check the names of faults.

    Raises:
        KitError: There is no such fault.
    """
    known = get_args(Fault)
    named = (faults,) if isinstance(faults, str) else tuple(faults)
    for fault in named:
        if fault not in known:
            raise KitError(f"no fault {quoted(fault)}; {near(fault, known)}")
    return frozenset(named)  # type: ignore[arg-type]  # compared above


@attrs.define
class _Segment:
    pieces: list[tuple[int, float]] = attrs.field(factory=list)  # (code, seconds), in order
    pushed: float = 0.0
    played: float = 0.0
    flushed: bool = False
    started: bool = False

    def push(self, code: int, seconds: float) -> None:
        if self.pieces and self.pieces[-1][0] == code:
            seconds, self.pushed = self.pieces.pop()[1] + seconds, self.pushed + seconds
        else:
            self.pushed += seconds
        self.pieces.append((code, seconds))


class ScriptedAudioOutput(io.AudioOutput):
    """Plays audio at the speed of the loop's clock, and records what was heard.

    Args:
        voice: The TTS, which knows the words of its audio.
        can_pause: The output can pause.
        faults: ``no_start`` and ``no_end``: it does not report the start or the end of playout.

    Example:
        >>> from turnfsm.testing import ScriptedAudioOutput, ScriptedTTS
        >>> ScriptedAudioOutput(ScriptedTTS(), can_pause=False).can_pause
        False
    """

    def __init__(
        self, voice: ScriptedTTS, *, can_pause: bool = True, faults: Iterable[Fault] = ()
    ) -> None:
        super().__init__(
            label="ScriptedAudioOutput",
            capabilities=io.AudioOutputCapabilities(pause=can_pause),
            sample_rate=voice.sample_rate,
        )
        self.heard: list[Heard] = []
        self._voice = voice
        self._faults = check_faults(faults)
        self._segments: deque[_Segment] = deque()
        self._since: float | None = None  # loop time at which the head started to play
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def sounding(self) -> bool:
        """Whether audio is playing now."""
        return self._since is not None

    @property
    def words_now(self) -> str:
        """The words of the current segment that were heard so far."""
        if self._since is None:
            return ""
        head = self._segments[0]
        played = head.played + asyncio.get_running_loop().time() - self._since
        return self._words(head, 0.0, played)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        if not self._segments or self._segments[-1].flushed:
            self._segments.append(_Segment())
        self._segments[-1].push(int(frame.data[0]), frame.duration)
        self._go_on()

    def flush(self) -> None:
        super().flush()
        if self._segments:
            self._segments[-1].flushed = True
            self._go_on()

    def clear_buffer(self) -> None:
        self._hush()
        while self._segments:
            self._finish(interrupted=True)

    def pause(self) -> None:
        super().pause()
        if self.can_pause:
            self._paused = True
            self._hush()

    def resume(self) -> None:
        super().resume()
        self._paused = False
        self._go_on()

    def _go_on(self) -> None:
        """Continue playing the head, and wake up when its audio runs out."""
        self._hush()
        while self._segments and not self._paused:
            head = self._segments[0]
            left = head.pushed - head.played
            if left > 1e-9:
                self._sound(head, left)
                return
            if not head.flushed:
                return
            self._finish(interrupted=False)

    def _sound(self, head: _Segment, left: float) -> None:
        loop = asyncio.get_running_loop()
        self._since = loop.time()
        self._timer = loop.call_later(left, self._go_on)
        if not head.started:
            head.started = True
            if "no_start" not in self._faults:
                self.on_playback_started(created_at=time.time())

    def _hush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._since is None:
            return
        since, self._since = self._since, None
        head = self._segments[0]
        now = asyncio.get_running_loop().time()
        begun, head.played = head.played, min(head.pushed, head.played + now - since)
        if head.played - begun > 1e-9:
            self._record(since, now, self._words(head, begun, head.played))

    def _words(self, head: _Segment, start: float, end: float) -> str:
        words, at = [], 0.0
        for code, seconds in head.pieces:
            text = self._voice.text(code)
            whole = self._voice.duration(text)
            words.append(spoken_between(text, whole, start - at, min(end - at, seconds)))
            at += seconds
        return " ".join(filter(None, words))

    def _record(self, start: float, end: float, text: str) -> None:
        last = self.heard[-1] if self.heard else None
        if last is not None and start - last.end < 1e-6 and self._segments[0].played > end - start:
            joined = " ".join(filter(None, (last.text, text)))
            self.heard[-1] = Heard(last.start, end, joined)
        else:
            self.heard.append(Heard(start, end, text))

    def _finish(self, *, interrupted: bool) -> None:
        done = self._segments.popleft()
        if "no_end" in self._faults:
            return
        self.on_playback_finished(
            playback_position=done.played,
            interrupted=interrupted,
            synchronized_transcript=self._words(done, 0.0, done.played),
        )
