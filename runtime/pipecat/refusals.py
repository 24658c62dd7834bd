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
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.turns.user_turn_processor import UserTurnProcessor
from pipecat.turns.user_turn_strategies import (
    ExternalUserTurnStrategies,
    FilterIncompleteUserTurnStrategies,
)

from turnfsm.fsm import Flow, HostError

from .sources import fixed_texts

__all__ = [
    "check_own_turns",
    "check_part",
    "check_realtime",
    "check_stt",
    "hears_user",
    "refuse_idle_timeout",
    "refuse_own_strategies",
    "refuse_verdicts_of_the_model",
    "within",
]


def refuse_verdicts_of_the_model(params: LLMUserAggregatorParams) -> None:
    own = params.user_turn_strategies
    if params.filter_incomplete_user_turns or isinstance(own, FilterIncompleteUserTurnStrategies):
        raise HostError(
            "FilterIncompleteUserTurnStrategies lets the model decide whether the user's turn is "
            "complete, after it was asked; a flow commits the turn before. Use a stop strategy "
            "that decides first, such as TurnAnalyzerUserTurnStopStrategy"
        )


def refuse_idle_timeout(flow: Flow, params: LLMUserAggregatorParams) -> None:
    if params.user_idle_timeout and "user_silence" in flow.scopes:
        raise HostError(
            f"flow {flow.name!r} has 'silence', and user_idle_timeout={params.user_idle_timeout:g} "
            "would prompt a quiet user as well; leave user_idle_timeout out, or take 'silence' out "
            "of the flow"
        )


def refuse_own_strategies(params: LLMUserAggregatorParams) -> None:
    """The flow leaves the turns to a realtime service, so nothing else may find them."""
    own = params.user_turn_strategies
    if own is not None and not isinstance(own, ExternalUserTurnStrategies):
        raise HostError(
            f"the flow leaves the turns of the user to a realtime service, and {type(own).__name__}"
            " would find them as well; leave user_turn_strategies out"
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


def hears_user(llm: LLMService[Any] | LLMSwitcher[Any]) -> bool:
    """Whether the model hears the user itself.

    Raises:
        HostError: It does, and answers without asking the flow.
    """
    for one in llm.llms if isinstance(llm, LLMSwitcher) else [llm]:
        metadata = one.service_metadata_frame()
        if metadata.is_realtime_service or metadata.user_turn_strategies is not None:
            off = _turn_detection_off(one)
            if metadata.user_turn_strategies is not None:
                raise HostError(
                    f"{one.name} detects the turns of the user, and answers them without asking "
                    "the flow. Turn that off, and give the user aggregator a VAD: "
                    f"settings={type(one).__name__}.Settings(session_properties="
                    f"SessionProperties({off})). Or use a flow that leaves the turns to the "
                    "service, such as 'speech_to_speech'"
                )
            _refuse_switching(one, inside=one is not llm)
            return True
    return False


def check_own_turns(flow: Flow, llm: LLMService[Any] | LLMSwitcher[Any]) -> None:
    """Check the model for a flow that leaves the turns to it.

    Raises:
        HostError: It does not detect them, or cannot be governed.
    """
    for one in llm.llms if isinstance(llm, LLMSwitcher) else [llm]:
        metadata = one.service_metadata_frame()
        if metadata.user_turn_strategies is None:
            raise HostError(
                f"flow {flow.name!r} leaves the turns of the user to a realtime service, and "
                f"{one.name} does not detect them; turn its turn detection on, or use a flow that "
                "decides about turns, such as 'turn'"
            )
        _turn_detection_off(one)
        _refuse_switching(one, inside=one is not llm)


def _turn_detection_off(llm: LLMService[Any]) -> str:
    """How the turn detection of a realtime service is turned off.

    Raises:
        HostError: A governor does not take this service.
    """
    # imported late: it takes time, and few pipelines have one
    from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
    from pipecat.services.xai.realtime.llm import GrokRealtimeLLMService

    if isinstance(llm, OpenAIRealtimeLLMService):
        return "audio=AudioConfiguration(input=AudioInput(turn_detection=False))"
    if isinstance(llm, GrokRealtimeLLMService):
        return "turn_detection=None"
    raise HostError(
        f"{llm.name} hears the user itself and answers without asking the flow; of such "
        "services a governor takes OpenAIRealtimeLLMService, AzureRealtimeLLMService and "
        "GrokRealtimeLLMService. Or use an LLM service with text, an STT and a TTS"
    )


def _refuse_switching(llm: LLMService[Any], *, inside: bool) -> None:
    if inside:
        raise HostError(
            f"{llm.name} is in an LLMSwitcher, and the conversation that it keeps would not follow "
            "a switch; write it into the list of governor.processors([...]) itself"
        )


def check_stt(before: Sequence[FrameProcessor]) -> None:
    """Check that something transcribes the turns that the flow decides about.

    Args:
        before: The processors before the user aggregator.
    """
    if all(isinstance(processor, BaseInputTransport) for processor in before):
        raise HostError(
            "there is no STT before the user aggregator: the realtime service gives a transcript "
            "only after it was asked to answer, and without one the flow cannot tell a cough from "
            "an interruption. Write an STT service behind transport.input()"
        )


def check_realtime(flow: Flow, *, speaks: bool) -> None:
    """Check the flow of a pipeline whose model hears the user.

    Args:
        speaks: There is a TTS.
    """
    if "yield_floor" in flow.actions:
        raise HostError(
            f"flow {flow.name!r} has fillers for a slow model, and a realtime service speaks as "
            "soon as it has something to say; leave 'thinking' out of their 'in'"
        )
    if not speaks and (texts := fixed_texts(flow)):
        raise HostError(
            f"flow {flow.name!r} says fixed texts ({', '.join(texts)}), which a realtime service "
            "does not speak; write a TTS service behind it, or take them out"
        )
