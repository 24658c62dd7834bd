"""Moonshine as LiveKit's speech-to-text."""

import time
from collections.abc import Iterable
from typing import Literal

import numpy as np
from attrs import frozen
from livekit import rtc
from livekit.agents import APIConnectOptions, LanguageCode, stt, utils
from livekit.agents.types import NOT_GIVEN, NotGivenOr

from .speech import PCM
from .transcribe import Transcriber
from .words import words

__all__ = ["MoonshineSTT", "Recognised"]


@frozen
class Recognised:
    """One utterance that the STT has transcribed."""

    text: str
    ignored: bool  # the session got an empty transcript
    audio: float  # seconds
    took: float  # seconds of wall time


class MoonshineSTT(stt.STT[Literal["metrics_collected"]]):
    """An STT for whole utterances. The session's VAD finds their ends.

    Args:
        transcriber: The speech model.
        ignore: Phrases, such as backchannels. If a transcript is one of them, it is reported as
            empty.

    Example::

        stt = MoonshineSTT(Transcriber.load(), ignore=["uh-huh"])
    """

    def __init__(self, transcriber: Transcriber, *, ignore: Iterable[str] = ()) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=False, interim_results=False))
        self._transcriber = transcriber
        self._ignore = frozenset(tuple(words(phrase)) for phrase in ignore)
        self.recognised: list[Recognised] = []

    @property
    def model(self) -> str:
        return "moonshine-tiny-en"

    @property
    def provider(self) -> str:
        return "moonshine-voice"

    async def _recognize_impl(
        self,
        buffer: utils.AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        frame = rtc.combine_audio_frames(buffer)
        text = await self.hear(np.frombuffer(frame.data, np.int16), frame.sample_rate)
        said = stt.SpeechData(language=LanguageCode("en"), text=text)
        return stt.SpeechEvent(
            type=stt.SpeechEventType.FINAL_TRANSCRIPT,
            request_id=utils.shortuuid(),
            alternatives=[said],
        )

    async def hear(self, pcm: PCM, rate: int) -> str:
        """The transcript of an utterance at `rate` Hz; empty if it is ignored."""
        began = time.perf_counter()
        text = await self._transcriber.transcribe(pcm, rate)
        ignored = tuple(words(text)) in self._ignore
        took = time.perf_counter() - began
        self.recognised.append(Recognised(text, ignored, len(pcm) / rate, took))
        return "" if ignored else text
