"""Scripted parts of a pipeline: microphone, model, voice and loudspeaker."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, Callable
from dataclasses import fields
from typing import Any

import attrs
from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.llm_service import FunctionCallFromLLM, LLMService
from pipecat.services.settings import LLMSettings, TTSSettings
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams

from turnfsm.runtime.testing.heard import Heard

__all__ = [
    "BREAK",
    "RATE",
    "Loudspeaker",
    "Messages",
    "Microphone",
    "Model",
    "Says",
    "ScriptedModel",
    "Voice",
    "model_settings",
    "said",
    "shows",
]

RATE = 16_000
WORD = 0.3  # seconds of audio
SILENCE = 0.2  # seconds after which the VAD reports the end of speech
STT = 0.2  # seconds from then to the transcript
BREAK = 0.1  # seconds of silence that separate two spans


@attrs.frozen
class Says:
    """The model's response to a request.

    Attributes:
        text: The text of the answer.
        calls: Tool calls: name and arguments.
        after: Seconds until the first token.
        fails: The model fails at that point.
    """

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    after: float = 0.4
    fails: bool = False


Messages = list[dict[str, Any]]
Model = Callable[[Messages], Says]


def said(messages: Messages) -> str:
    """The user's last message."""
    return next((str(m["content"]) for m in reversed(messages) if m.get("role") == "user"), "")


def shows(messages: Messages, text: str) -> bool:
    """Whether a result or message contains this."""
    return any(text in str(m.get("content")) for m in messages)


class Microphone(FrameProcessor):
    """The VAD and the STT, for a scripted user."""

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`."""
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)

    async def says(self, words: str, seconds: float = 1.0, *, late: float = STT) -> None:
        """Speech of a number of seconds, with its transcript `late` seconds after the end."""
        await self.makes_noise(seconds)
        await asyncio.sleep(late)
        await self.push_frame(f.TranscriptionFrame(words, "user", "now", finalized=True))

    async def makes_noise(self, seconds: float) -> None:
        """Speech without a transcript."""
        await self.push_frame(f.VADUserStartedSpeakingFrame(start_secs=0.2))
        await asyncio.sleep(seconds + SILENCE)
        await self.push_frame(f.VADUserStoppedSpeakingFrame(stop_secs=SILENCE))


def model_settings(model: str) -> LLMSettings:
    """The settings of an LLM service that supports none of them; Pipecat logs what is missing."""
    unsupported = dict.fromkeys(one.name for one in fields(LLMSettings) if one.name != "extra")
    return LLMSettings(**{**unsupported, "model": model})


class ScriptedModel(LLMService):
    """Answers each request with a function of its messages.

    Args:
        answer: The function.
        asked: Called with the messages of each request.
        options: As for `LLMService`.
    """

    def __init__(
        self, answer: Model, asked: Callable[[Messages], None] | None = None, **options: Any
    ) -> None:
        super().__init__(**{"settings": model_settings("scripted"), **options})
        self._answer, self._asked, self._calls = answer, asked, 0

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`."""
        await super().process_frame(frame, direction)
        if not isinstance(frame, f.LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        messages = [dict(message) for message in frame.context.messages]
        if self._asked is not None:
            self._asked(messages)
        says = self._answer(messages)
        await self.push_frame(f.LLMFullResponseStartFrame())
        try:
            await asyncio.sleep(says.after)
            if says.fails:
                raise RuntimeError("the provider is down")
            for word in says.text.split():
                await self.push_frame(f.LLMTextFrame(f"{word} "))
                await asyncio.sleep(0.01)
            if says.calls:
                await self.run_function_calls([self._call(*c, frame) for c in says.calls])
        except RuntimeError as error:
            await self.push_error(str(error), exception=error)
        finally:
            await self.push_frame(f.LLMFullResponseEndFrame())

    def _call(self, name: str, arguments: dict[str, Any], frame: Any) -> FunctionCallFromLLM:
        shown = [c["id"] for m in frame.context.messages for c in m.get("tool_calls") or ()]
        self._calls = max([self._calls, *(int(id.rpartition("_")[2]) for id in shown)]) + 1
        return FunctionCallFromLLM(name, f"call_{self._calls}", arguments, frame.context)


class Voice(TTSService):
    """A TTS. The audio of a word is 0.3 s of a constant sample, its number.

    Args:
        words: Each spoken word is added here.
        times_words: It reports when each word is spoken.
        fails_on: It fails on sentences with this; on none if empty.
    """

    def __init__(self, words: list[str], *, times_words: bool = False, fails_on: str = "") -> None:
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            push_text_frames=not times_words,
            sample_rate=RATE,
            settings=TTSSettings(model="scripted", voice="scripted", language="en"),
        )
        self._words, self._times_words, self._fails_on = words, times_words, fails_on
        self._placed = 0  # words of this response, whose times count from its beginning

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        """As `TTSService.process_frame`."""
        if isinstance(frame, f.LLMFullResponseStartFrame | f.TTSSpeakFrame | f.InterruptionFrame):
            self._placed = 0
        await super().process_frame(frame, direction)

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[f.Frame | None, None]:
        """As `TTSService.run_tts`."""
        await asyncio.sleep(0.1)
        if self._fails_on and self._fails_on in text:
            yield f.ErrorFrame("the voice is down")
            return
        spoken = text.split()
        for word in spoken:
            self._words.append(word)
            audio = struct.pack("<h", len(self._words)) * int(RATE * WORD)
            yield f.TTSAudioRawFrame(audio, RATE, 1, context_id=context_id)
        if self._times_words:
            times = [(word, (self._placed + at) * WORD) for at, word in enumerate(spoken)]
            self._placed += len(spoken)
            await self.add_word_timestamps(times, context_id)


class Loudspeaker(BaseOutputTransport):
    """An output that plays audio in real duration, and records which words were heard, and when.

    Attributes:
        played: The words, with their loop times. The rest of a paused word has no text.
    """

    def __init__(self, words: list[str], params: TransportParams) -> None:
        super().__init__(params)
        self._words, self._latest = words, 0
        self.played: list[Heard] = []

    async def start(self, frame: f.StartFrame) -> None:
        """As `BaseOutputTransport.start`."""
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: f.OutputAudioRawFrame) -> bool:
        """As `BaseOutputTransport.write_audio_frame`."""
        (number,) = struct.unpack("<h", frame.audio[:2])
        start = asyncio.get_running_loop().time()
        await asyncio.sleep(len(frame.audio) / 2 / RATE)
        end = asyncio.get_running_loop().time()
        if number:
            text = self._words[number - 1] if number != self._latest else ""
            self._latest = number
            if not text and start - self.played[-1].end < BREAK:
                before = self.played.pop()
                start, text = before.start, before.text
            self.played.append(Heard(start, end, text))
        return True
