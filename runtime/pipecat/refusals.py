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
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.turns.user_turn_processor import UserTurnProcessor
from pipecat.turns.user_turn_strategies import FilterIncompleteUserTurnStrategies

from turnfsm.fsm import HostError

__all__ = ["check_part", "refuse_realtime", "refuse_verdicts_of_the_model", "within"]


def refuse_verdicts_of_the_model(params: LLMUserAggregatorParams) -> None:
    own = params.user_turn_strategies
    if params.filter_incomplete_user_turns or isinstance(own, FilterIncompleteUserTurnStrategies):
        raise HostError(
            "FilterIncompleteUserTurnStrategies lets the model decide whether the user's turn is "
            "complete, after it was asked; a flow commits the turn before. Use a stop strategy "
            "that decides first, such as TurnAnalyzerUserTurnStopStrategy"
        )


def check_part(processor: FrameProcessor, *, adopts: bool) -> None:
    """Check a processor, and those inside of it.

    Args:
        adopts: Pipecat would use the strategies that a service recommends.
    """
    inside = [*within(processor)]
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


def within(processor: FrameProcessor) -> Iterator[FrameProcessor]:
    """The processors inside of a processor."""
    for inner in processor.processors:
        yield inner
        yield from within(inner)


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
