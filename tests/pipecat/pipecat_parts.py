"""The scripted parts of a conversation: microphone, model, voice and loudspeaker."""

import asyncio
import struct
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import FunctionCallFromLLM, LLMService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams

RATE = 16_000
WORD = 0.3  # seconds of audio
SILENCE = 0.2  # seconds after which the VAD reports the end of a voice
STT = 0.2  # seconds from then to the transcript


@dataclass
class Says:
    """What the model gives for a request."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    after: float = 0.4
    fails: bool = False


Messages = list[dict[str, Any]]
Model = Callable[[Messages], Says]


def said(messages: Messages) -> str:
    """What the user has said last."""
    return next((str(m["content"]) for m in reversed(messages) if m.get("role") == "user"), "")


def shows(messages: Messages, text: str) -> bool:
    """Whether a result or message contains this."""
    return any(text in str(m.get("content")) for m in messages)


class Microphone(FrameProcessor):
    """The VAD and the STT: the user speaks, and is understood, or not."""

    async def process_frame(self, frame: f.Frame, direction: Any) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)

    async def says(self, words: str, seconds: float = 1.0) -> None:
        await self.makes_noise(seconds)
        await asyncio.sleep(STT)
        await self.push_frame(f.TranscriptionFrame(words, "user", "now", finalized=True))

    async def makes_noise(self, seconds: float) -> None:
        await self.push_frame(f.VADUserStartedSpeakingFrame(start_secs=0.2))
        await asyncio.sleep(seconds + SILENCE)
        await self.push_frame(f.VADUserStoppedSpeakingFrame(stop_secs=SILENCE))


class ScriptedModel(LLMService):
    def __init__(self, answer: Model, **options: Any) -> None:
        super().__init__(**options)
        self._answer, self.requests, self._calls = answer, list[Messages](), 0

    async def process_frame(self, frame: f.Frame, direction: Any) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, f.LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        messages = [dict(message) for message in frame.context.messages]
        self.requests.append(messages)
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
        self._calls += 1
        return FunctionCallFromLLM(name, f"call_{self._calls}", arguments, frame.context)


class Voice(TTSService):
    """Each word is 0.3 s of a constant: its number. It fails on sentences with `fails_on`."""

    fails_on = ""

    def __init__(self, words: list[str], *, times_words: bool = False) -> None:
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            push_text_frames=not times_words,
            sample_rate=RATE,
        )
        self._words, self._times_words = words, times_words

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[f.Frame | None, None]:
        await asyncio.sleep(0.1)
        if self.fails_on and self.fails_on in text:
            yield f.ErrorFrame("the voice is down")
            return
        spoken = text.split()
        for word in spoken:
            self._words.append(word)
            audio = struct.pack("<h", len(self._words)) * int(RATE * WORD)
            yield f.TTSAudioRawFrame(audio, RATE, 1, context_id=context_id)
        if self._times_words:
            times = [(word, place * WORD) for place, word in enumerate(spoken)]
            await self.add_word_timestamps(times, context_id)


class Loudspeaker(BaseOutputTransport):
    """Takes as long for audio as it lasts, and notes which words were heard, and when."""

    def __init__(self, words: list[str], params: TransportParams) -> None:
        super().__init__(params)
        self._words, self.heard = words, list[tuple[float, str]]()

    async def start(self, frame: f.StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: f.OutputAudioRawFrame) -> bool:
        (number,) = struct.unpack("<h", frame.audio[:2])
        word = self._words[number - 1] if number else ""
        if word and [w for _, w in self.heard[-1:]] != [word]:
            self.heard.append((round(asyncio.get_running_loop().time(), 2), word))
        await asyncio.sleep(len(frame.audio) / 2 / RATE)
        return True
