"""A Pipecat conversation under `specs/turn.yaml`, over the ports that LiveKit's adapter fills."""

import asyncio
import struct
from collections.abc import AsyncGenerator
from typing import Any

from binding import Binding
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames import frames as f
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import FunctionCallFromLLM, LLMService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner

from turnfsm.testing import run

RATE = 16_000
WORD = 0.3  # seconds of audio
ANSWER = "Your order is on its way and will arrive on Friday in the early afternoon."
NEXT_ANSWER = "It cost twenty euros."


class Microphone(FrameProcessor):
    """A VAD and an STT: the user speaks for a second, and is understood 0.2 s later."""

    async def process_frame(self, frame: f.Frame, direction: Any) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)

    async def says(self, words: str) -> None:
        await self.push_frame(f.VADUserStartedSpeakingFrame())
        await asyncio.sleep(1.0)
        await self.push_frame(f.VADUserStoppedSpeakingFrame())
        await asyncio.sleep(0.2)
        await self.push_frame(f.TranscriptionFrame(words, "user", "now", finalized=True))


class Model(LLMService):
    """Calls its tool first, and answers what the user has said last once it has the result."""

    async def process_frame(self, frame: f.Frame, direction: Any) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, f.LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        messages = frame.context.messages
        said = [message["content"] for message in messages if message["role"] == "user"]
        await self.push_frame(f.LLMFullResponseStartFrame())
        await asyncio.sleep(0.4)
        if not any("on Friday" in str(m.get("content")) for m in messages):
            call = FunctionCallFromLLM("look_up", "call_1", {"order": 7}, frame.context)
            await self.run_function_calls([call])
        else:
            answer = NEXT_ANSWER if "cost" in said[-1] else ANSWER
            await self.push_frame(f.LLMTextFrame(answer))
        await self.push_frame(f.LLMFullResponseEndFrame())


class Voice(TTSService):
    """Each word is 0.3 s of a constant: its number."""

    def __init__(self, words: list[str]) -> None:
        super().__init__(push_start_frame=True, push_stop_frames=True, sample_rate=RATE)
        self._words = words

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[f.Frame | None, None]:
        for word in text.split():
            self._words.append(word)
            audio = struct.pack("<h", len(self._words)) * int(RATE * WORD)
            yield f.TTSAudioRawFrame(audio, RATE, 1, context_id=context_id)


class Loudspeaker(BaseOutputTransport):
    """Takes as long for audio as it lasts, and notes which words were heard."""

    def __init__(self, words: list[str], params: TransportParams) -> None:
        super().__init__(params)
        self._words, self.heard = words, list[str]()

    async def start(self, frame: f.StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: f.OutputAudioRawFrame) -> bool:
        (number,) = struct.unpack("<h", frame.audio[:2])
        if number and self.heard[-1:] != [self._words[number - 1]]:
            self.heard.append(self._words[number - 1])
        await asyncio.sleep(len(frame.audio) / 2 / RATE)
        return True


async def _look_up(params: Any) -> None:
    await asyncio.sleep(1.0)
    await params.result_callback("it arrives on Friday")


async def _converse() -> tuple[Binding, str]:
    tools = ToolsSchema([FunctionSchema("look_up", "Looks an order up.", {}, [])])
    binding, words = Binding(LLMContext(tools=tools)), list[str]()
    strategies = UserTurnStrategies(start=[binding.starts], stop=[binding.stops])
    own = LLMUserAggregatorParams(user_turn_strategies=strategies)
    pair = LLMContextAggregatorPair(binding.context, user_params=own)
    microphone, model = Microphone(), Model()
    speaker = Loudspeaker(
        words,
        TransportParams(
            audio_out_enabled=True, audio_out_sample_rate=RATE, audio_out_filter=binding.output
        ),
    )
    binding.register(model, "look_up", _look_up)
    before = [microphone, pair.user(), binding.gate, model, Voice(words)]
    pipeline = Pipeline([*before, speaker, binding.heard, pair.assistant(), binding.tail])
    worker = PipelineWorker(pipeline, cancel_on_idle_timeout=False, enable_rtvi=False)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.ensure_future(runner.run())
    await asyncio.sleep(1.0)
    binding.start()
    await microphone.says("when does my order arrive")
    await asyncio.sleep(3.5)
    await microphone.says("and what did it cost")
    await asyncio.sleep(5.0)
    await binding.aclose()
    await worker.cancel()
    await running
    return binding, " ".join(speaker.heard)


def test_a_conversation_of_pipecat_with_a_tool_and_a_barge_in_is_governed() -> None:
    """A question, a tool, the answer, a barge-in, the next answer."""
    binding, heard = run(_converse(), limit=60.0)
    question = ["listening", "thinking", "tool_running", "thinking", "speaking"]
    barge_in = ["paused", "interrupted", "listening", "thinking", "speaking"]
    assert binding.states == [*question, *barge_in, "thinking", "listening"]
    assert heard == f"Your order is on its way {NEXT_ANSWER}"
    assert binding.context.messages[-1] == {"role": "assistant", "content": NEXT_ANSWER}
    assert binding.conductor.turns.outcomes == {"replied": 2}
    assert binding.reports == []
