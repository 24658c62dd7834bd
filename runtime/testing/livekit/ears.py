"""A VAD and an STT for the frames of a `ScriptedAudioInput`. Replaced audio is lost to them."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from livekit import rtc
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectionError,
    APIConnectOptions,
    stt,
    vad,
)
from livekit.agents.language import LanguageCode
from livekit.agents.types import NotGivenOr
from livekit.agents.utils import AudioBuffer

from .user import FRAME, RATE, ScriptedUser, Utterance, code_of, length_of, offset_of

__all__ = ["ScriptedSTT", "ScriptedVAD"]


class ScriptedVAD(vad.VAD):
    """A perfect VAD: every sound of the user is speech, nothing else is.

    Args:
        min_speech: Seconds of sound after which it reports the start.
        min_silence: Seconds of silence after which it reports the end.
        fails_at: Seconds of audio after which it ends with an error; None: it does not.
        says_speaking: False: its inference events leave `VADEvent.speaking` at LiveKit's default,
            False, as some VADs do.

    Example:
        >>> from turnfsm.testing import ScriptedVAD
        >>> vad = ScriptedVAD(min_silence=0.5)
    """

    def __init__(
        self,
        *,
        min_speech: float = 0.05,
        min_silence: float = 0.25,
        fails_at: float | None = None,
        says_speaking: bool = True,
    ) -> None:
        super().__init__(capabilities=vad.VADCapabilities(update_interval=FRAME))
        self.min_speech, self.min_silence = min_speech, min_silence
        self.fails_at, self.says_speaking = fails_at, says_speaking

    def stream(self) -> vad.VADStream:
        return _VADStream(self)


class _VADStream(vad.VADStream):
    def __init__(self, owner: ScriptedVAD) -> None:
        super().__init__(owner)
        self._owner = owner
        self._samples = 0
        self._reset()

    def _reset(self) -> None:
        self._speaking = False
        self._loud = self._quiet = 0  # frames in a row
        self._speech = self._silence = 0  # the length in frames of the published event

    async def _main_task(self) -> None:
        async for item in self._input_ch:
            if isinstance(item, vad.VADStream._FlushSentinel):
                self._reset()
                continue
            self._hear(item)

    def _hear(self, frame: rtc.AudioFrame) -> None:
        self._samples += frame.samples_per_channel
        fails_at = self._owner.fails_at
        if fails_at is not None and self._samples / RATE > fails_at:
            raise RuntimeError("the scripted VAD fails")
        length = length_of(frame)
        if self._speaking:
            self._speech += length
        else:
            self._silence += length
        self._report(vad.VADEventType.INFERENCE_DONE, [frame])
        if code_of(frame):
            self._loud, self._quiet = self._loud + length, 0
        else:
            self._loud, self._quiet = 0, self._quiet + length
        if not self._speaking and self._loud * FRAME >= self._owner.min_speech:
            self._speaking, self._speech, self._silence = True, self._loud, 0
            self._report(vad.VADEventType.START_OF_SPEECH, [frame])
        elif self._speaking and self._quiet * FRAME >= self._owner.min_silence:
            self._speaking, self._silence = False, self._quiet
            self._speech -= self._quiet
            self._report(vad.VADEventType.END_OF_SPEECH, [frame])
            self._speech = 0

    def _report(self, kind: vad.VADEventType, frames: list[rtc.AudioFrame]) -> None:
        self._event_ch.send_nowait(
            vad.VADEvent(
                type=kind,
                samples_index=self._samples,
                timestamp=self._samples / RATE,
                speech_duration=self._speech * FRAME,
                silence_duration=self._silence * FRAME,
                frames=frames,
                probability=1.0 if self._loud else 0.0,
                speaking=self._speaking and self._owner.says_speaking,
                raw_accumulated_silence=self._quiet * FRAME,
                raw_accumulated_speech=self._loud * FRAME,
            )
        )


class ScriptedSTT(stt.STT[Any]):
    """A streaming STT: it recognises the words of a `ScriptedUser` after their delay.

    Args:
        user: The user.
        failures: For a text the seconds after the start of that sound at which the stream fails,
            once. LiveKit then opens another one.
        down: True: it is unreachable, and every attempt fails. May be changed during the stage.
        ends_turns: It also reports the start of speech and, after each final transcript, its end,
            as needed for ``turn_detection="stt"``.
        ends_after: Seconds from a final transcript to that end.

    Example:
        >>> from turnfsm.testing import ScriptedSTT, ScriptedUser
        >>> stt = ScriptedSTT(ScriptedUser(), failures={"hello": 0.2})
    """

    def __init__(
        self,
        user: ScriptedUser,
        *,
        failures: dict[str, float] | None = None,
        down: bool = False,
        ends_turns: bool = False,
        ends_after: float = FRAME,
    ) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=True, interim_results=True))
        self.down = down
        self.user, self.ends_turns, self.ends_after = user, ends_turns, ends_after
        self.failures = dict(failures or {})

    def check(self, code: int, offset: float) -> None:
        """Fail where the script has a failure."""
        if self.down:
            raise APIConnectionError("the scripted STT is down")
        text = self.user.utterance(code).text if code else ""
        if offset >= self.failures.get(text, float("inf")):
            del self.failures[text]
            raise APIConnectionError("the scripted STT breaks off")

    async def _recognize_impl(
        self,
        buffer: AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        frames = buffer if isinstance(buffer, list) else [buffer]
        codes = sorted({code for frame in frames if (code := code_of(frame))})
        return _transcript(" ".join(self.user.utterance(code).text for code in codes), final=True)

    def stream(
        self,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
    ) -> stt.RecognizeStream:
        return _STTStream(self, conn_options)


class _STTStream(stt.RecognizeStream):
    def __init__(self, owner: ScriptedSTT, conn_options: APIConnectOptions) -> None:
        self._owner = owner
        self._code = 0
        self._from = 0.0  # the position in the utterance at which this stream began
        self._upto = 0.0
        self._timers: list[asyncio.TimerHandle] = []
        self._interims: list[asyncio.TimerHandle] = []
        super().__init__(stt=owner, conn_options=conn_options, sample_rate=RATE)

    async def _run(self) -> None:
        try:
            async for item in self._input_ch:
                if not isinstance(item, stt.RecognizeStream._FlushSentinel):
                    self._hear(item)
            await self._settle()
        finally:
            for timer in self._timers:
                timer.cancel()

    async def _settle(self) -> None:
        loop = asyncio.get_running_loop()
        due = [timer.when() for timer in self._timers if not timer.cancelled()]
        await asyncio.sleep(max([0.0, *(when - loop.time() for when in due)]))

    def _hear(self, frame: rtc.AudioFrame) -> None:
        code = code_of(frame)
        self._owner.check(code, offset_of(frame))
        if code != self._code and self._code:
            self._end_of(self._owner.user.utterance(self._code))
        if code and code != self._code:
            if self._owner.ends_turns:
                self._send(stt.SpeechEvent(type=stt.SpeechEventType.START_OF_SPEECH))
            self._from = offset_of(frame)
            self._expect_interims(self._owner.user.utterance(code))
        self._code = code
        self._upto = offset_of(frame) + FRAME if code else self._upto

    def _expect_interims(self, utterance: Utterance) -> None:
        missed = utterance.words_between(0.0, self._from).split()
        self._interims = []
        for offset, text in utterance.interims:
            words = text.split()
            heard = words[len(missed) :] if words[: len(missed)] == missed else words
            if offset >= self._from and heard:
                event = _transcript(" ".join(heard), final=False)
                self._interims.append(self._later(offset - self._from - FRAME, event))

    def _end_of(self, utterance: Utterance) -> None:
        text = utterance.words_between(self._from, self._upto)
        partial = self._upto < utterance.duration - FRAME  # the rest is lost, or comes later
        delay = math.inf if utterance.stt_delay is None else utterance.stt_delay - FRAME
        final = asyncio.get_running_loop().time() + delay
        for interim in self._interims:
            if partial or interim.when() > final - FRAME / 2:  # none after the final transcript
                interim.cancel()
        if utterance.stt_delay is not None and text:
            self._later(delay, _transcript(text, final=True))
            if self._owner.ends_turns:
                end = stt.SpeechEvent(type=stt.SpeechEventType.END_OF_SPEECH)
                self._later(delay + self._owner.ends_after, end)

    def _later(self, delay: float, event: stt.SpeechEvent) -> asyncio.TimerHandle:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(max(0.0, delay), self._send, event))
        return self._timers[-1]

    def _send(self, event: stt.SpeechEvent) -> None:
        if not self._event_ch.closed:
            self._event_ch.send_nowait(event)


def _transcript(text: str, *, final: bool) -> stt.SpeechEvent:
    kind = stt.SpeechEventType.FINAL_TRANSCRIPT if final else stt.SpeechEventType.INTERIM_TRANSCRIPT
    data = stt.SpeechData(language=LanguageCode("en"), text=text, confidence=1.0)
    return stt.SpeechEvent(type=kind, alternatives=[data])
