"""What a pipeline needs from outside, without keys, microphone or network: a caller, a model, a
voice and a loudspeaker. Replace them by services of Pipecat."""

import asyncio
import time
from collections.abc import AsyncGenerator

from pipecat.frames.frames import (
    Frame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    OutputAudioRawFrame,
    StartFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.llm_service import FunctionCallFromLLM, LLMService
from pipecat.services.settings import LLMSettings, TTSSettings
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams

RATE = 16_000
WORD = 0.3  # seconds that a word takes


class Caller(FrameProcessor):
    """In the place of a microphone, a VAD and an STT."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)

    async def says(self, words: str) -> None:
        print(f"caller: {words}")
        await self._makes_a_sound(WORD * len(words.split()))
        await asyncio.sleep(0.2)
        await self.push_frame(TranscriptionFrame(words, "caller", "", finalized=True))

    async def coughs(self) -> None:
        print("caller: (coughs)")
        await self._makes_a_sound(0.4)

    async def _makes_a_sound(self, seconds: float) -> None:
        await self.push_frame(VADUserStartedSpeakingFrame())
        await asyncio.sleep(seconds)
        await self.push_frame(VADUserStoppedSpeakingFrame())


class Model(LLMService):
    """Makes a transfer when it is asked to, and says what the tool has given."""

    def __init__(self) -> None:
        super().__init__(settings=LLMSettings(model="script"))

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        await self.push_frame(LLMFullResponseStartFrame())
        await asyncio.sleep(0.4)
        last = frame.context.messages[-1]
        if last["role"] == "user" and "transfer" in last["content"]:
            await self.push_frame(LLMTextFrame("One moment please."))
            call = FunctionCallFromLLM("transfer", "call_1", {"amount": 50}, frame.context)
            await self.run_function_calls([call])
        elif last["role"] == "user":
            await self.push_frame(LLMTextFrame("You are welcome."))
        else:
            await self.push_frame(LLMTextFrame("Your fifty euros are on their way to Anna."))
        await self.push_frame(LLMFullResponseEndFrame())


class Voice(TTSService):
    """Says each word as 0.3 s of a hum."""

    def __init__(self) -> None:
        settings = TTSSettings(model="hum", voice="hum", language="en")
        super().__init__(
            push_start_frame=True, push_stop_frames=True, sample_rate=RATE, settings=settings
        )

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        for _ in text.split():
            hum = b"\1\0" * int(RATE * WORD)
            yield TTSAudioRawFrame(hum, RATE, 1, context_id=context_id)


class Loudspeaker(BaseOutputTransport):
    """Takes as long for audio as it lasts, and counts pauses of half a second and more."""

    def __init__(self, params: TransportParams) -> None:
        super().__init__(params)
        self.seconds, self.pauses, self._until = 0.0, 0, 0.0

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        seconds = len(frame.audio) / 2 / RATE
        if any(frame.audio):
            self.pauses += 0.0 < self._until < time.time() - 0.5
            self.seconds, self._until = self.seconds + seconds, time.time() + seconds
        await asyncio.sleep(seconds)
        return True


def params() -> TransportParams:
    """Those of the loudspeaker."""
    return TransportParams(audio_out_enabled=True, audio_out_sample_rate=RATE)
