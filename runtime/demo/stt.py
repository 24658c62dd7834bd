"""Moonshine as LiveKit's speech-to-text, with interim transcripts."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Literal

import numpy as np
from attrs import define
from livekit import rtc
from livekit.agents import APIConnectOptions, LanguageCode, inference, stt, utils, vad
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS, NOT_GIVEN, NotGivenOr

from .parts import MIN_SILENCE
from .speech import PCM, RATE
from .transcribe import Transcriber
from .words import words

__all__ = ["Interims", "MoonshineSTT"]

_EVERY = 0.2  # seconds of new speech between two transcripts of an utterance
_GROWTH = 0.2  # the same, as a share of the whole utterance: a long one is transcribed less often


class MoonshineSTT(stt.STT[Literal["metrics_collected"]]):
    """An STT that finds utterances with a VAD of its own, and transcribes them while they grow.

    Args:
        transcriber: The speech model.
        ignore: Phrases, such as sounds. An utterance that consists of one has no transcript.

    Attributes:
        recognised: What was said in each utterance, also if it is ignored.

    Example::

        stt = MoonshineSTT(Transcriber.load(), ignore=["uh-huh"])
    """

    def __init__(self, transcriber: Transcriber, *, ignore: Iterable[str] = ()) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=True, interim_results=True))
        self.transcriber = transcriber
        self.vad = inference.VAD(min_silence_duration=MIN_SILENCE)
        self.recognised: list[str] = []
        self._ignore = [words(phrase) for phrase in ignore]

    @property
    def model(self) -> str:
        return "moonshine-tiny-en"

    @property
    def provider(self) -> str:
        return "moonshine-voice"

    def stream(
        self,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
    ) -> stt.RecognizeStream:
        return _Stream(self, conn_options)

    async def _recognize_impl(
        self,
        buffer: utils.AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        frame = rtc.combine_audio_frames(buffer)
        text = await self.hear(np.frombuffer(frame.data, np.int16), frame.sample_rate)
        return _event(stt.SpeechEventType.FINAL_TRANSCRIPT, text)

    async def hear(self, pcm: PCM, rate: int) -> str:
        """The transcript of an utterance at `rate` Hz; empty if it is ignored."""
        text = await self.transcriber.transcribe(pcm, rate)
        self.recognised.append(text)
        return "" if words(text) in self._ignore else text

    def ignores_so_far(self, text: str) -> bool:
        """Whether an utterance that begins with this text may be ignored."""
        begun = words(text)
        return any(phrase[: len(begun)] == begun for phrase in self._ignore)


@define
class Interims:
    """The interim transcripts of one utterance, from transcripts of its speech so far.

    One alone is often wrong about its last words, so the words count on which two in a row agree.
    """

    _stt: MoonshineSTT
    _last: Sequence[str] = ()
    _text: str = ""
    _due: float = 0.0  # samples

    def due(self, samples: int) -> bool:
        """Whether the speech has grown enough for another transcript."""
        return samples >= self._due

    async def heard(self, pcm: PCM, rate: int) -> str:
        """Transcribe the speech so far. Returns the interim transcript; empty if it is the last
        one."""
        self._due = len(pcm) + max(_EVERY * rate, _GROWTH * len(pcm))
        before, heard = self._last, (await self._stt.transcriber.transcribe(pcm, rate)).split()
        self._last = heard
        text = " ".join(b for _, b in takewhile(_agree, zip(before, heard, strict=False)))
        if text == self._text or self._stt.ignores_so_far(text):
            return ""
        self._text = text
        return text


class _Stream(stt.RecognizeStream):
    def __init__(self, model: MoonshineSTT, conn_options: APIConnectOptions) -> None:
        super().__init__(stt=model, conn_options=conn_options, sample_rate=RATE)
        self._model = model
        self._voices = model.vad.stream()
        self._speech: PCM | None = None  # of the utterance so far
        self._interims = Interims(model)

    async def _run(self) -> None:
        pushing = asyncio.create_task(self._push())
        try:
            async for event in self._voices:
                await self._heard(event)
        finally:
            await utils.aio.cancel_and_wait(pushing)
            await self._voices.aclose()

    async def _push(self) -> None:
        async for frame in self._input_ch:
            if isinstance(frame, rtc.AudioFrame):
                self._voices.push_frame(frame)
        self._voices.end_input()

    async def _heard(self, event: vad.VADEvent) -> None:
        if event.type == vad.VADEventType.START_OF_SPEECH:
            self._speech, self._interims = _samples(event), Interims(self._model)
        elif event.type == vad.VADEventType.END_OF_SPEECH:
            self._speech = None
            if text := await self._model.hear(_samples(event), RATE):
                self._event_ch.send_nowait(_event(stt.SpeechEventType.FINAL_TRANSCRIPT, text))
        elif self._speech is not None:
            self._speech = np.concatenate([self._speech, _samples(event)])
            due = self._interims.due(len(self._speech))
            if due and (text := await self._interims.heard(self._speech, RATE)):
                self._event_ch.send_nowait(_event(stt.SpeechEventType.INTERIM_TRANSCRIPT, text))


def _agree(pair: tuple[str, str]) -> bool:
    return words(pair[0]) == words(pair[1])


def _event(kind: stt.SpeechEventType, text: str) -> stt.SpeechEvent:
    said = stt.SpeechData(language=LanguageCode("en"), text=text)
    return stt.SpeechEvent(type=kind, request_id=utils.shortuuid(), alternatives=[said])


def _samples(event: vad.VADEvent) -> PCM:
    return np.concatenate([np.frombuffer(frame.data, np.int16) for frame in event.frames])
