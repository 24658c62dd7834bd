"""Puts the gates between the processors of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from pipecat.pipeline.llm_switcher import LLMSwitcher
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMUserAggregator,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService
from pipecat.services.stt_service import STTService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_output import BaseOutputTransport

from turnfsm.fsm import HostError, TurnfsmError
from turnfsm.runtime.conversation.ports import Setup

from .gates import AskGate, HeardGate, ModelGate, RequestGate, TailGate
from .realtime import RealtimeModelGate, RealtimeRequestGate
from .refusals import (
    check_own_turns,
    check_part,
    check_realtime,
    check_stt,
    hears_user,
    within,
)
from .session import PipecatSession
from .unasked import UnaskedAskGate, UnaskedModelGate, UnaskedRequestGate
from .words import WordGate

__all__ = ["gated"]


def gated(
    session: PipecatSession, processors: Sequence[FrameProcessor], *, adopts: bool
) -> list[FrameProcessor]:
    """The processors, with the gates before and after them. It raises what
    `TurnGovernor.processors` does; `adopts` is that of `check_part`."""
    _check_list(processors)
    flow, owned = session.turn.flow, session.agent.own_turns is not None
    for processor in processors:
        check_part(processor, adopts=adopts and not owned)
    speaks = bool(_places(processors, TTSService))
    out = [one for processor in processors for one in _gated(session, processor, speaks)]
    _check_order(out)
    session.parts.check()
    if owned:
        session.agent.setup = Setup(has_stt=False, keeps_context=True, transcribes=True)
        check_realtime(flow, speaks=speaks)
    elif any(isinstance(processor, RealtimeModelGate) for processor in out):
        session.agent.setup = Setup(commits_audio=True, keeps_context=True)
        session.hearing.speculates = False
        check_stt(processors[: _places(processors, LLMUserAggregator)[0]])
        check_realtime(flow, speaks=speaks)
    return out


def _gated(
    session: PipecatSession, processor: FrameProcessor, speaks: bool
) -> Sequence[FrameProcessor]:
    agent, parts = session.agent, session.parts
    match processor:
        case LLMUserAggregator():
            agent.context = processor.context
            owned = agent.own_turns is not None
            return processor, UnaskedAskGate(session) if owned else AskGate(session)
        case LLMService() | LLMSwitcher():
            parts.add("model")
            for llm in processor.llms if isinstance(processor, LLMSwitcher) else [processor]:
                agent.functions.check_model(llm)
            if (turns := agent.own_turns) is not None:
                check_own_turns(session.turn.flow, processor)
                own = UnaskedModelGate(agent, turns, speaks)
                return UnaskedRequestGate(agent, turns, own), processor, own
            if hears_user(processor):
                behind = RealtimeModelGate(agent, speaks)
                return RealtimeRequestGate(agent, behind), processor, behind
            waits = "yield_floor" in session.turn.flow.actions
            return RequestGate(agent), processor, ModelGate(agent, waits)
        case BaseOutputTransport():
            parts.add("output")
            catch = [session.backchannel_catch] if session.has_backchannels else []
            return *catch, WordGate(session.tap), processor, HeardGate(agent)
        case LLMAssistantAggregator():
            parts.add("assistant")
            return processor, TailGate(session)
    return (processor,)


def _check_list(processors: object) -> None:
    given = processors if isinstance(processors, Sequence) else (processors,)
    if given is not processors or not all(isinstance(item, FrameProcessor) for item in given):
        wrong = next((item for item in given if not isinstance(item, FrameProcessor)), processors)
        raise TurnfsmError(
            f"processors({type(wrong).__name__}): give the list of the pipeline's processors: "
            "Pipeline(governor.processors([transport.input(), ..., pair.assistant()]))"
        )


def _check_order(processors: Sequence[FrameProcessor]) -> None:
    """Check the order of the parts, also of an STT and a TTS. Others of these may be anywhere."""
    kinds = (AskGate, ModelGate, HeardGate, TailGate)
    gates = [kind for processor in processors for kind in kinds if isinstance(processor, kind)]
    wrong = gates != sorted(gates, key=kinds.index)
    if not wrong and len(gates) == len(kinds):
        ask, model, output, _ = (_places(processors, kind)[0] for kind in kinds)
        stts, ttss = _places(processors, STTService), _places(processors, TTSService)
        wrong = bool(stts and min(stts) > ask)
        wrong |= bool(ttss and not any(model < place < output for place in ttss))
    if wrong:
        raise HostError(
            "the processors are in another order than Pipecat needs them in; write: STT service, "
            "user aggregator, LLM service, TTS service, transport.output(), assistant aggregator"
        )


def _places(processors: Sequence[FrameProcessor], kind: type[FrameProcessor]) -> list[int]:
    return [
        place
        for place, processor in enumerate(processors)
        if any(isinstance(part, kind) for part in (processor, *within(processor)))
    ]
