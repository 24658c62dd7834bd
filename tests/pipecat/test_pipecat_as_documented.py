"""A bot as Pipecat's own pages write it, with three calls of a governor: direct functions, a
greeting with `LLMRunFrame`, a filler that is queued to the TTS, an idle user, a tool that ends the
call."""

import asyncio
import logging
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames.frames import (
    EndWorkerFrame,
    LLMMessagesAppendFrame,
    LLMRunFrame,
    TTSSpeakFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.llm_service import FunctionCallParams
from pipecat.transports.base_transport import TransportParams
from pipecat.workers.runner import WorkerRunner

from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Says, own_strategies, said, shows
from turnfsm.runtime.testing.pipecat.parts import (
    RATE,
    Loudspeaker,
    Microphone,
    ScriptedModel,
    Voice,
)
from turnfsm.testing import run

HELLO, CHECKS, NICE = "Hello I am your assistant.", "Let me check on that.", "It is nice today."
THERE, BYE = "Are you there?", "Goodbye then."


async def get_weather(params: FunctionCallParams, location: str) -> None:
    """Get the current weather.

    Args:
        location: The city.
    """
    await asyncio.sleep(2.0)
    await params.result_callback({"conditions": "nice"})


async def end_call(params: FunctionCallParams) -> None:
    """End the call."""
    await params.llm.push_frame(TTSSpeakFrame(BYE))
    await params.llm.push_frame(EndWorkerFrame(), FrameDirection.UPSTREAM)
    await params.result_callback(None)


def _model(messages: Messages) -> Says:
    if "introduce" in str(messages[-1].get("content")):
        return Says(HELLO)
    if "bye" in said(messages):
        return Says(calls=(("end_call", {}),))
    if "quiet" in str(messages[-1].get("content")):
        return Says(THERE)
    if shows(messages, "nice"):
        return Says(NICE)
    return Says(calls=(("get_weather", {"location": "Rome"}),))


async def _call(governor: TurnGovernor | None) -> str:
    """The caller coughs while the tool runs, and is quiet before they say goodbye."""
    await asyncio.sleep(1.0)  # a Pipecat clock that is started at 0 does not run
    words: list[str] = []
    output = TransportParams(audio_out_enabled=True, audio_out_sample_rate=RATE)
    user = LLMUserAggregatorParams(user_turn_strategies=own_strategies(), user_idle_timeout=8.0)
    if governor is not None:
        output, user = governor.transport(output), governor.user(user)
    microphone, loudspeaker = Microphone(), Loudspeaker(words, output)
    llm, tts = ScriptedModel(_model), Voice(words)
    context = LLMContext(
        [{"role": "system", "content": "You are friendly."}], tools=[get_weather, end_call]
    )
    pair = LLMContextAggregatorPair(context, user_params=user)
    parts = [microphone, pair.user(), llm, tts, loudspeaker, pair.assistant()]
    pipeline = Pipeline(governor.processors(parts) if governor is not None else parts)
    worker = PipelineWorker(pipeline, params=PipelineParams(enable_metrics=True))

    @llm.event_handler("on_function_calls_started")
    async def on_function_calls_started(service: Any, calls: Any) -> None:
        if calls[0].function_name == "get_weather":
            await tts.queue_frame(TTSSpeakFrame(CHECKS))

    @pair.user().event_handler("on_user_turn_idle")
    async def on_user_turn_idle(aggregator: Any) -> None:
        message = {"role": "developer", "content": "The user is quiet."}
        await aggregator.queue_frame(LLMMessagesAppendFrame([message], run_llm=True))

    context.add_message({"role": "developer", "content": "Please introduce yourself."})
    await worker.queue_frames([LLMRunFrame()])
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.ensure_future(runner.run())
    await asyncio.sleep(5.0)
    await microphone.says("what is the weather in Rome")
    await asyncio.sleep(1.6)
    await microphone.makes_noise(0.4)
    await asyncio.sleep(18.0)
    await microphone.says("okay bye")
    await running  # `end_call` ends it
    return " ".join(word.text for word in loudspeaker.played if word.text)


def test_a_bot_of_the_pages_says_everything_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "turnfsm"):
        heard = run(_call(TurnGovernor()), limit=120.0)
    assert heard == f"{HELLO} {CHECKS} {NICE} {THERE} {BYE}"
    assert caplog.text == ""


def test_alone_its_tool_is_cancelled_by_a_cough() -> None:
    """The filler is heard twice, and so is the wait for the tool."""
    heard = run(_call(None), limit=120.0)
    assert heard.count("Let me check") == 2
