"""Parts of a Pipecat pipeline that a governor refuses: they would start turns, interrupt or answer
without asking the flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipecat.pipeline.llm_switcher import LLMSwitcher
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMUserAggregator,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.ai_service import AIService
from pipecat.services.llm_service import LLMService
from pipecat.services.stt_service import STTService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.turns.user_turn_processor import UserTurnProcessor
from pipecat.turns.user_turn_strategies import FilterIncompleteUserTurnStrategies

from turnfsm.fsm import HostError, TurnfsmError

from .gates import AskGate, HeardGate, ModelGate, TailGate

__all__ = [
    "check_list",
    "check_order",
    "check_part",
    "refuse_realtime",
    "refuse_verdicts_of_the_model",
]


def refuse_verdicts_of_the_model(params: LLMUserAggregatorParams) -> None:
    own = params.user_turn_strategies
    if params.filter_incomplete_user_turns or isinstance(own, FilterIncompleteUserTurnStrategies):
        raise HostError(
            "FilterIncompleteUserTurnStrategies lets the model decide whether the user's turn is "
            "complete, after it was asked; a flow commits the turn before. Use a stop strategy "
            "that decides first, such as TurnAnalyzerUserTurnStopStrategy"
        )


def check_list(processors: object) -> None:
    given = processors if isinstance(processors, Sequence) else (processors,)
    if given is not processors or not all(isinstance(item, FrameProcessor) for item in given):
        wrong = next((item for item in given if not isinstance(item, FrameProcessor)), processors)
        raise TurnfsmError(
            f"processors({type(wrong).__name__}): give the list of the pipeline's processors: "
            "Pipeline(governor.processors([transport.input(), ..., pair.assistant()]))"
        )


def check_part(processor: FrameProcessor, *, adopts: bool) -> None:
    """Check a processor, and those inside of it.

    Args:
        adopts: Pipecat would use the strategies that a service recommends.
    """
    inside = [*_within(processor)]
    if not isinstance(processor, LLMSwitcher):
        _refuse_inside(processor, inside)
    for part in (processor, *inside):
        _refuse_other_turns(part)
        if adopts:
            _refuse_recommended(part)


def _refuse_recommended(processor: FrameProcessor) -> None:
    """Pipecat adopts these strategies at the start, without asking the flow."""
    metadata = processor.service_metadata_frame() if isinstance(processor, AIService) else None
    if metadata is not None and (own := metadata.user_turn_strategies) is not None:
        raise HostError(
            f"{processor.name} finds the turns of the user itself, which Pipecat would adopt "
            "without the flow; pass its strategies to the governor: governor.user("
            f"LLMUserAggregatorParams(user_turn_strategies={type(own).__name__}()))"
        )


def _refuse_other_turns(processor: FrameProcessor) -> None:
    if isinstance(processor, UserTurnProcessor):
        raise HostError(
            f"{processor.name} starts and ends the user's turns, and interrupts, without asking "
            "the flow; leave it out, and pass its strategies to the governor: governor.user("
            "LLMUserAggregatorParams(user_turn_strategies=...))"
        )


def _within(processor: FrameProcessor) -> Iterator[FrameProcessor]:
    for inner in processor.processors:
        yield inner
        yield from _within(inner)


def _refuse_inside(outer: FrameProcessor, inside: Sequence[FrameProcessor]) -> None:
    kinds = (LLMUserAggregator, LLMService, BaseOutputTransport, LLMAssistantAggregator)
    if names := [inner.name for inner in inside if isinstance(inner, kinds)]:
        raise HostError(
            f"{names[0]} is inside {outer.name}, and a governor puts its gates only between the "
            "processors that it is given; write it into the list of governor.processors([...]), "
            "and leave in parallel pipelines what neither answers nor plays"
        )


def refuse_realtime(llm: LLMService[Any]) -> None:
    metadata = llm.service_metadata_frame()
    if metadata.is_realtime_service or metadata.user_turn_strategies is not None:
        raise HostError(
            f"{llm.name} hears the user itself, and such services are not governed on Pipecat: "
            "nothing would post final_transcript and turn_committed before it answers; use an LLM "
            "service with text, an STT and a TTS"
        )


def check_order(processors: Sequence[FrameProcessor]) -> None:
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
        if any(isinstance(part, kind) for part in (processor, *_within(processor)))
    ]
