"""The demo's parts as processors of Pipecat: microphone, STT, model, TTS and audio output."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pipecat.frames.frames import (
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    CancelFrame,
    EndFrame,
    Frame,
    InputAudioRawFrame,
    InterimTranscriptionFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    StartFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    VADUserStartedSpeakingFrame,
)
from pipecat.processors.aggregators import async_tool_messages
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.settings import STTSettings, TTSSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_start import VADUserTurnStartStrategy
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies

from turnfsm.runtime.demo.audio import WavInput
from turnfsm.runtime.demo.llm import RuleLLM, call, message, output
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.stt import Interims, MoonshineSTT
from turnfsm.runtime.demo.tape import PacedTape
from turnfsm.runtime.demo.tts import PiperTTS
from turnfsm.runtime.testing.pipecat import Messages, Says, ScriptedModel

__all__ = [
    "Ears",
    "Loudspeaker",
    "Microphone",
    "Moonshine",
    "Piper",
    "items_of",
    "model",
    "strategies",
]

_CHUNK = 2 * 480  # bytes, 30 ms: each is a step of every processor, at any speed
_BEFORE = RATE  # bytes, half a second: of the audio before the VAD has reported speech


class Microphone(BaseInputTransport):
    """Passes on what the user's microphone picks up."""

    def __init__(self, wav: WavInput) -> None:
        super().__init__(TransportParams(audio_in_enabled=True, audio_in_sample_rate=RATE))
        self._wav, self._listening = wav, None

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)
        self._listening = self.create_task(self._listen())

    async def stop(self, frame: EndFrame) -> None:
        await self._stop_listening()
        await super().stop(frame)

    async def cancel(self, frame: CancelFrame) -> None:
        await self._stop_listening()
        await super().cancel(frame)

    async def _listen(self) -> None:
        audio = bytearray()
        async for frame in self._wav:
            audio += bytes(frame.data)
            if len(audio) >= _CHUNK:
                await self.push_audio_frame(InputAudioRawFrame(bytes(audio), RATE, 1))
                audio.clear()

    async def _stop_listening(self) -> None:
        if self._listening is not None:
            await self.cancel_task(self._listening)
            self._listening = None


class Moonshine(SegmentedSTTService):
    """Transcribes each utterance that the VAD finds, and while it grows."""

    def __init__(self, stt: MoonshineSTT, latency: float) -> None:
        settings = STTSettings(model=stt.model, language="en")
        super().__init__(sample_rate=RATE, ttfs_p99_latency=latency, settings=settings)
        self._stt, self._interims = stt, Interims(stt)
        self._begins = 0  # in the buffer, in bytes
        self._transcribing: asyncio.Task[None] | None = None

    @property
    def wants_wav_segments(self) -> bool:
        return False

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        text = await self._stt.hear(np.frombuffer(audio, np.int16), RATE)
        if text:
            yield TranscriptionFrame(text, "user", "")

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, VADUserStartedSpeakingFrame):
            self._interims = Interims(self._stt)
            self._begins = max(0, len(self._audio_buffer) - _BEFORE)
        elif isinstance(frame, InputAudioRawFrame) and self._user_speaking:
            speech = np.frombuffer(self._audio_buffer[self._begins :], np.int16)
            idle = self._transcribing is None or self._transcribing.done()
            if idle and self._interims.due(len(speech)):
                self._transcribing = self.create_task(self._transcribe(self._interims, speech))

    async def _transcribe(self, interims: Interims, speech: PCM) -> None:
        if text := await interims.heard(speech, RATE):
            await self.push_frame(InterimTranscriptionFrame(text, "user", ""))


class Ears(FrameProcessor):
    """Notes each final transcript."""

    def __init__(self, noted: Callable[[str], None]) -> None:
        super().__init__()
        self._noted = noted

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame):
            self._noted(frame.text)
        await self.push_frame(frame, direction)


def model(rules: RuleLLM) -> ScriptedModel:
    """A service that replies by the rules of the demo."""

    def answer(messages: Messages) -> Says:
        reply, pace = rules.answer_to(items_of(messages)), rules.pace
        calls = ((reply.tool, dict(reply.arguments)),) if reply.tool else ()
        after = pace.wall(rules.first_token + reply.thinks)
        return Says(reply.say, calls, after, each=pace.wall(rules.token))

    return ScriptedModel(answer)


class Piper(TTSService):
    """The agent's voice. The words of a sentence share its time equally."""

    def __init__(self, tts: PiperTTS, pace: Pace) -> None:
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            push_text_frames=False,
            sample_rate=tts.sample_rate,
            settings=TTSSettings(model=tts.model, voice=tts.model, language="en"),
        )
        self._tts, self._pace = tts, pace
        self._context, self._said = "", 0.0  # seconds of conversation

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        if context_id != self._context:
            self._context, self._said = context_id, 0.0
        rate, begins, words = self._tts.sample_rate, self._said, text.split()
        async for pcm in self._tts.speak(text):
            self._said += len(pcm) / 2 / rate
            yield TTSAudioRawFrame(pcm, rate, 1, context_id=context_id)
        each = (self._said - begins) / max(1, len(words))
        times = [self._pace.wall(begins + number * each) for number in range(len(words))]
        await self.add_word_timestamps([*zip(words, times, strict=True)], context_id)


class Loudspeaker(BaseOutputTransport):
    """Plays audio to a tape.

    Args:
        params: The transport's parameters.
        tape: Where it is recorded.
        began: Called when an utterance begins.
        ended: Called when it has ended, with whether it was interrupted.
    """

    def __init__(
        self,
        params: TransportParams,
        tape: PacedTape,
        began: Callable[[], None],
        ended: Callable[[bool], None],
    ) -> None:
        super().__init__(params)
        self._tape, self._began, self._ended = tape, began, ended
        self._speaks = self._cut = False

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        if any(frame.audio) or isinstance(frame, TTSAudioRawFrame):
            await self._tape.play(frame.audio)
        else:  # a mixer has nothing to play
            await self._tape.wait(frame.audio)
        return True

    async def push_frame(
        self, frame: Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM
    ) -> None:
        if direction is FrameDirection.DOWNSTREAM:
            self._note(frame)
        await super().push_frame(frame, direction)

    def _note(self, frame: Frame) -> None:
        match frame:
            case BotStartedSpeakingFrame():
                self._speaks, self._cut = True, False
                self._began()
            case InterruptionFrame():
                self._cut = self._speaks
            case BotStoppedSpeakingFrame():
                self._speaks = False
                self._tape.utterance_ended()
                self._ended(self._cut)


def strategies(pace: Pace) -> UserTurnStrategies:
    """A turn begins with the user's voice, and ends half a second after it."""
    ends = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=pace.wall(0.5))
    return UserTurnStrategies(start=[VADUserTurnStartStrategy()], stop=[ends])


def items_of(messages: Sequence[Any]) -> list[Any]:
    """Messages of Pipecat as the items that the demo's model and its checks read."""
    calls = {c["id"]: c["function"] for m in messages for c in m.get("tool_calls") or ()}
    return [item for one in messages for item in _items(one, calls)]


def _items(one: Mapping[str, Any], calls: Mapping[str, Any]) -> Iterator[Any]:
    role, content = one["role"], str(one.get("content") or "")
    parsed = async_tool_messages.parse_message(one)
    if role in ("user", "assistant") and content:
        yield message(role, content)
    for made in one.get("tool_calls") or ():
        yield call(made["id"], made["function"]["name"], made["function"]["arguments"])
    if parsed is not None and parsed.kind == "final":
        yield _output(parsed.tool_call_id, parsed.result or "", calls)
    elif parsed is None and role == "tool":
        yield _output(one["tool_call_id"], content, calls)


def _output(id: str, result: str, calls: Mapping[str, Any]) -> Any:
    return output(id, calls[id]["name"], str(json.loads(result)))
