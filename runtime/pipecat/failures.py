"""Reads an `ErrorFrame`: which component failed for the step that holds the floor."""

from __future__ import annotations

from pipecat.frames.frames import ErrorFrame
from pipecat.services.llm_service import LLMService
from pipecat.services.tts_service import TTSService
from pipecat.utils.errors import ErrorCategory

from turnfsm.fsm.journal import ComponentFailed, ComponentPart

__all__ = ["failure_of"]

KINDS: dict[type, ComponentPart] = {LLMService: "llm", TTSService: "tts"}


def failure_of(frame: ErrorFrame, speech: str | None) -> ComponentFailed | None:
    """The failure of the LLM or the TTS; None if something else has failed, such as a tool.

    Args:
        speech: The id of the speech.
    """
    if frame.category is ErrorCategory.APPLICATION:
        return None
    error = type(frame.exception).__name__ if frame.exception is not None else "ErrorFrame"
    part = next((part for kind, part in KINDS.items() if isinstance(frame.processor, kind)), None)
    if part is None:
        return None
    return ComponentFailed(
        part, frame.processor.name, error, False, speech=speech, message=frame.error
    )
