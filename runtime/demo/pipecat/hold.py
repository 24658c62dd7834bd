"""The conversation in a governed Pipecat pipeline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from attrs import frozen
from loguru import logger
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.frames.frames import ErrorFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_transport import TransportParams
from pipecat.workers.runner import WorkerRunner

from turnfsm.fsm import Flow
from turnfsm.runtime.conversation.ports import FalseInterruption
from turnfsm.runtime.demo.prompter import Prompter
from turnfsm.runtime.demo.recorder import Scribe
from turnfsm.runtime.demo.robot import Robot
from turnfsm.runtime.demo.script import CONVERSATION
from turnfsm.runtime.demo.stack import SpokenStack
from turnfsm.runtime.demo.take import Take, converse
from turnfsm.runtime.demo.tape import PacedTape
from turnfsm.runtime.pipecat.agent import AgentStateChanged
from turnfsm.runtime.pipecat.calls import Handler
from turnfsm.runtime.pipecat.governor import TurnGovernor

from .parts import (
    Ears,
    Loudspeaker,
    Microphone,
    Moonshine,
    Piper,
    items_of,
    model,
    strategies,
)
from .text import TypedStack

__all__ = ["NEVER_POSTED", "Parts", "PipelineStack", "hold", "logged", "pipeline"]

NEVER_POSTED = frozenset({"preemptive_generation"})
"""The demo's STT predicts no end of a turn, so nothing proposes a speculative request."""


class PipelineStack(SpokenStack):
    """The spoken components of a pipeline."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.output = PacedTape(self.pace, self.tts.sample_rate)

    def ears(self) -> Sequence[FrameProcessor]:
        """What hears the user, after the transport."""
        return [Moonshine(self.stt, self.pace.wall(0.5))]

    def microphone(self) -> FrameProcessor:
        """The input of the demo's own transport."""
        return Microphone(self.input)

    def voice(self) -> TTSService:
        """The agent's voice."""
        return Piper(self.tts, self.pace)

    def user(self) -> LLMUserAggregatorParams:
        """The user aggregator's parameters. The VAD counts audio; the other delays, wall time."""
        params = VADParams(confidence=0.5, start_secs=0.1, stop_secs=0.3, min_volume=0.0)
        return LLMUserAggregatorParams(
            user_turn_strategies=strategies(self.pace),
            user_turn_stop_timeout=self.pace.wall(2.0),
            vad_analyzer=SileroVADAnalyzer(params=params),
        )


Parts: TypeAlias = PipelineStack | TypedStack
"""The components of a pipeline, spoken or typed."""


@frozen
class _Speakers:
    governor: TurnGovernor

    @property
    def agent_state(self) -> str:
        return self.governor.agent_state

    @property
    def user_state(self) -> str:
        return "speaking" if self.governor.turn.holds("user_speaking") else "listening"


async def hold(stack: Parts, flow: Flow, take: Take) -> None:
    """Play all lines of the user to a pipeline that the flow governs."""
    with logged(take.log):
        await _hold(stack, flow, take)


async def _hold(stack: Parts, flow: Flow, take: Take) -> None:
    take.model, take.never_posted = stack.llm, NEVER_POSTED
    governor = TurnGovernor(
        flow,
        timers=stack.pace.timers(flow),
        sinks=[take.recorder],
        proof="warn",
        on_report=lambda report: _reported(report, scribe),
    )
    scribe = Scribe(governor.turn, stack)
    ears = Ears(lambda text: scribe.note("transcript", text=text))
    prompter = Prompter(_Speakers(governor), stack.output, stack.pace)
    robot, context, tape = Robot(stack.pace), LLMContext(), stack.output
    params = TransportParams(audio_out_enabled=True, audio_out_sample_rate=tape.rate)
    spoken = Loudspeaker(
        governor.transport(params),
        tape,
        prompter.answer_began,
        lambda interrupted: scribe.played(interrupted=interrupted),
    )
    tools = {
        "drive": _handler(robot.drive, scribe, prompter),
        "find_parcel": _handler(robot.find_parcel, scribe, prompter),
    }
    heard = [stack.microphone(), *stack.ears(), ears]
    worker = PipelineWorker(
        pipeline(governor, stack, context, tools, heard, spoken),
        cancel_on_idle_timeout=False,
        enable_rtvi=False,
    )
    started = asyncio.Event()

    async def note_start(*_: object) -> None:
        started.set()

    async def note_error(_: object, frame: ErrorFrame) -> None:
        take.log.append(f"ERROR pipecat: {frame.error}")

    worker.add_event_handler("on_pipeline_started", note_start)
    worker.add_event_handler("on_pipeline_error", note_error)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    take.recorder.align(governor.turn)
    running = asyncio.ensure_future(runner.run())
    try:
        await started.wait()
        await converse(CONVERSATION, stack, scribe, prompter)
    except TimeoutError as error:
        take.stopped = str(error)
    finally:
        scribe.finish()
        take.history = items_of(context.messages)
        await worker.cancel()
        await running
        take.position = robot.position


def pipeline(
    governor: TurnGovernor,
    stack: Parts,
    context: LLMContext,
    tools: Mapping[str, Handler],
    heard: Sequence[FrameProcessor],
    spoken: FrameProcessor,
) -> Pipeline:
    """The governed pipeline, between what hears the user and the output of a transport."""
    llm = model(stack.llm)
    for name, tool in tools.items():
        governor.register_function(llm, name, tool)
    pair = LLMContextAggregatorPair(context, user_params=governor.user(stack.user()))
    behind = [llm, stack.voice(), spoken, pair.assistant()]
    return Pipeline(governor.processors([*heard, pair.user(), *behind]))


def _handler(tool: Callable[..., Awaitable[str]], scribe: Scribe, prompter: Prompter) -> Handler:
    async def handler(params: FunctionCallParams) -> None:
        id, outcome = params.tool_call_id, "failed"
        scribe.tool_started(id, params.function_name, json.dumps(dict(params.arguments)))
        prompter.tool_started(id)
        try:
            result = await tool(**params.arguments)
            outcome = "done"
        finally:
            scribe.tool_ended(id, outcome)
            prompter.tool_ended(id)
        await params.result_callback(result)

    return handler


def _reported(report: object, scribe: Scribe) -> None:
    if isinstance(report, AgentStateChanged):
        scribe.note("agent_state", old=report.old, new=report.new)
    elif isinstance(report, FalseInterruption):
        scribe.note("agent_false_interruption", resumed=True)


@contextmanager
def logged(log: list[str]) -> Iterator[None]:
    """Collect Pipecat's warnings and errors."""
    logger.remove()
    form = "{level} {name}: {message}"
    keeper = logger.add(
        lambda message: log.append(str(message).strip()), level="WARNING", format=form
    )
    try:
        yield
    finally:
        logger.remove(keeper)
