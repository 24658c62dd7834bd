"""Moonshine as an STT that streams: interim transcripts while the user speaks."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import numpy as np
from livekit import rtc
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectOptions,
    LanguageCode,
    inference,
    stt,
    utils,
    vad,
)
from livekit.agents.types import NotGivenOr

from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.transcribe import Transcriber

__all__ = ["InterimSTT"]

_EVERY = round(0.3 * RATE)  # samples between two interim transcripts


class InterimSTT(stt.STT[Literal["metrics_collected"]]):
    """Finds utterances with a VAD of its own, and transcribes them while they grow.

    Args:
        transcriber: The speech model.
        min_silence: Seconds of silence that end an utterance.
    """

    def __init__(self, transcriber: Transcriber, *, min_silence: float = 0.3) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=True, interim_results=True))
        self.transcriber = transcriber
        self.vad = inference.VAD(min_silence_duration=min_silence)

    async def _recognize_impl(self, *args: Any, **options: Any) -> stt.SpeechEvent:
        raise NotImplementedError("this STT only streams")

    def stream(
        self,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
    ) -> stt.RecognizeStream:
        return _Stream(self, conn_options)


class _Stream(stt.RecognizeStream):
    def __init__(self, model: InterimSTT, conn_options: APIConnectOptions) -> None:
        super().__init__(stt=model, conn_options=conn_options, sample_rate=RATE)
        self._transcriber = model.transcriber
        self._voices = model.vad.stream()
        self._speech: PCM | None = None  # of the utterance so far
        self._transcribed = 0  # samples of it
        self._text = ""

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
            self._speech, self._transcribed, self._text = _samples(event), 0, ""
        elif event.type == vad.VADEventType.END_OF_SPEECH:
            if text := await self._transcribe(_samples(event)):
                self._send(stt.SpeechEventType.FINAL_TRANSCRIPT, text)
            self._speech = None
        elif self._speech is not None:
            self._speech = np.concatenate([self._speech, _samples(event)])
            if len(self._speech) - self._transcribed >= _EVERY:
                self._transcribed = len(self._speech)
                if (text := await self._transcribe(self._speech)) and text != self._text:
                    self._text = text
                    self._send(stt.SpeechEventType.INTERIM_TRANSCRIPT, text)

    async def _transcribe(self, pcm: PCM) -> str:
        return await self._transcriber.transcribe(pcm, RATE)

    def _send(self, kind: stt.SpeechEventType, text: str) -> None:
        said = stt.SpeechData(language=LanguageCode("en"), text=text)
        self._event_ch.send_nowait(stt.SpeechEvent(type=kind, alternatives=[said]))


def _samples(event: vad.VADEvent) -> PCM:
    return np.concatenate([np.frombuffer(frame.data, np.int16) for frame in event.frames])
