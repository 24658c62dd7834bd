"""Scripted parts of a pipeline: microphone, model, voice and loudspeaker."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import fields
from typing import Any

import attrs
from pipecat.audio.vad.vad_analyzer import VADAnalyzer, VADParams
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
    "LEVEL",
    "RATE",
    "WORD",
    "Loudspeaker",
    "Messages",
    "Microphone",
    "Model",
    "Says",
    "ScriptedModel",
    "ScriptedVAD",
    "Voice",
    "model_settings",
    "said",
    "shows",
]

RATE = 16_000
WORD = 0.3  # seconds of audio
SILENCE = 0.2  # seconds after which the VAD reports the end of speech
STT = 0.2  # seconds from then to the transcript
FRAME = 0.02  # seconds of the user's audio
BREAK = 0.1  # seconds of silence that separate two spans
LEVEL = 500  # by which each utterance is louder than the one before


@attrs.frozen
class Says:
    """The model's response to a request.

    Attributes:
        text: The text of the answer.
        calls: Tool calls: name and arguments.
        after: Seconds until the first token.
        fails: The model fails at that point.
        each: Seconds that it takes for a word.
    """

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    after: float = 0.4
    fails: bool = False
    each: float = 0.01


Messages = list[dict[str, Any]]
Pauses = Sequence[tuple[float, float]]
Model = Callable[[Messages], Says]


def said(messages: Messages) -> str:
    """The user's last message."""
    return next((str(m["content"]) for m in reversed(messages) if m.get("role") == "user"), "")


def shows(messages: Messages, text: str) -> bool:
    """Whether a message or result contains the text."""
    return any(text in str(m.get("content")) for m in messages)


class ScriptedVAD(VADAnalyzer):
    """A perfect VAD: every sound of the user is speech, nothing else is.

    Args:
        stop_secs: Seconds of silence after which it reports the end of speech.
    """

    def __init__(self, *, stop_secs: float = 0.55) -> None:
        super().__init__(params=VADParams(start_secs=0.1, stop_secs=stop_secs, min_volume=0.0))

    def num_frames_required(self) -> int:
        """As `VADAnalyzer.num_frames_required`."""
        return int(self.sample_rate * FRAME)

    def voice_confidence(self, buffer: bytes) -> float:
        """As `VADAnalyzer.voice_confidence`."""
        return float(any(buffer))


class Microphone(FrameProcessor):
    """The VAD and the STT, for a scripted user.

    Args:
        vad: The VAD of the user aggregator. It gets audio, and reports the speech.
        always: There is audio while nobody speaks, too.
        transcribes: There is an STT.

    Attributes:
        utterances: What the user has said so far; a noise is empty.
    """

    def __init__(
        self, vad: VADAnalyzer | None = None, *, always: bool = False, transcribes: bool = True
    ) -> None:
        super().__init__()
        self._vad, self._always, self._transcribes = vad, always, transcribes
        self._silence: asyncio.Task[None] | None = None
        self._sounds_now = False
        self.utterances: list[str] = []

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`."""
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        if isinstance(frame, f.StartFrame) and self._always:
            self._silence = self.create_task(self._is_silent())

    async def cleanup(self) -> None:
        """As `FrameProcessor.cleanup`."""
        await super().cleanup()
        if self._silence is not None:
            await self.cancel_task(self._silence)

    async def _is_silent(self) -> None:
        while True:
            if not self._sounds_now:
                await self._plays(0)
            await asyncio.sleep(FRAME)

    async def _plays(self, level: int) -> None:
        audio = struct.pack("<h", level) * int(RATE * FRAME)
        await self.push_frame(f.InputAudioRawFrame(audio, RATE, 1))

    async def says(
        self, words: str, seconds: float = 1.0, *, late: float = STT, pauses: Pauses = ()
    ) -> None:
        """Speech of a number of seconds, with its transcript `late` seconds after the end.

        Args:
            pauses: The begin and end of each pause in it, in seconds. They need a VAD.
        """
        await self._sound(words, seconds, pauses)
        if not self._transcribes:
            return
        await asyncio.sleep(late)
        await self.push_frame(f.TranscriptionFrame(words, "user", "now", finalized=True))

    async def makes_noise(self, seconds: float, *, pauses: Pauses = ()) -> None:
        """Speech without a transcript."""
        await self._sound("", seconds, pauses)

    async def _sound(self, words: str, seconds: float, pauses: Pauses) -> None:
        self.utterances.append(words)
        if self._vad is not None or self._always:
            silence = SILENCE if self._vad is None else self._vad.params.stop_secs
            await self._sounds(seconds, pauses, silence)
            return
        await self.push_frame(f.VADUserStartedSpeakingFrame(start_secs=0.2))
        await asyncio.sleep(seconds + SILENCE)
        await self.push_frame(f.VADUserStoppedSpeakingFrame(stop_secs=SILENCE))

    async def _sounds(self, seconds: float, pauses: Pauses, silence: float) -> None:
        level, self._sounds_now = LEVEL * len(self.utterances), True
        for count in range(round((seconds + silence) / FRAME)):
            at = count * FRAME
            loud = at < seconds and not any(begins <= at < ends for begins, ends in pauses)
            await self._plays(level * loud)
            await asyncio.sleep(FRAME)
        self._sounds_now = False


def model_settings(model: str) -> LLMSettings:
    """The settings of an LLM service that supports none of them; Pipecat logs what is missing."""
    unsupported = dict.fromkeys(
        field.name for field in fields(LLMSettings) if field.name != "extra"
    )
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
                await asyncio.sleep(says.each)
            if says.calls:
                await self.run_function_calls([self._call(*c, frame) for c in says.calls])
        except RuntimeError as error:
            await self.push_error(str(error), exception=error)
        finally:
            await self.push_frame(f.LLMFullResponseEndFrame())

    def _call(self, name: str, arguments: dict[str, Any], frame: Any) -> FunctionCallFromLLM:
        earlier = [c["id"] for m in frame.context.messages for c in m.get("tool_calls") or ()]
        self._calls = max([self._calls, *(int(id.rpartition("_")[2]) for id in earlier)]) + 1
        return FunctionCallFromLLM(name, f"call_{self._calls}", arguments, frame.context)


class Voice(TTSService):
    """A TTS. The audio of a word is 0.3 s of a constant sample, its number.

    Args:
        words: Each spoken word is added here.
        times_words: It reports when each word is spoken.
        fails_on: It fails on sentences with this; on none if empty.
        rate: Its sample rate.
    """

    def __init__(
        self,
        words: list[str],
        *,
        times_words: bool = False,
        fails_on: str = "",
        rate: int = RATE,
    ) -> None:
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            push_text_frames=not times_words,
            sample_rate=rate,
            settings=TTSSettings(model="scripted", voice="scripted", language="en"),
        )
        self._words, self._times_words, self._fails_on = words, times_words, fails_on
        self._rate = rate
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
        words = text.split()
        for word in words:
            self._words.append(word)
            audio = struct.pack("<h", len(self._words)) * int(self._rate * WORD)
            yield f.TTSAudioRawFrame(audio, self._rate, 1, context_id=context_id)
        if self._times_words:
            times = [(word, (self._placed + at) * WORD) for at, word in enumerate(words)]
            self._placed += len(words)
            await self.add_word_timestamps(times, context_id)


class Loudspeaker(BaseOutputTransport):
    """An output that plays audio in real duration, and records which words were heard, and when.

    Attributes:
        played: The words, with their loop times. The rest of a paused word has no text.
        beside: The words of the agent's backchannels, likewise.
    """

    def __init__(self, words: list[str], params: TransportParams) -> None:
        super().__init__(params)
        self._words, self._latest = words, 0
        self.played: list[Heard] = []
        self.beside: list[Heard] = []

    async def start(self, frame: f.StartFrame) -> None:
        """As `BaseOutputTransport.start`."""
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: f.OutputAudioRawFrame) -> bool:
        """As `BaseOutputTransport.write_audio_frame`."""
        (number,) = struct.unpack("<h", frame.audio[:2])
        start = asyncio.get_running_loop().time()
        await asyncio.sleep(len(frame.audio) / 2 / frame.sample_rate)
        end = asyncio.get_running_loop().time()
        if number:
            heard = self.played if isinstance(frame, f.TTSAudioRawFrame) else self.beside
            text = self._words[number - 1] if number != self._latest else ""
            self._latest = number
            if not text and start - heard[-1].end < BREAK:
                before = heard.pop()
                start, text = before.start, before.text
            heard.append(Heard(start, end, text))
        return True
