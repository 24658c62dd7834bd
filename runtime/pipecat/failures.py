"""Reads from an `ErrorFrame` what has failed for the step that holds the floor."""

from __future__ import annotations

from pipecat.frames.frames import ErrorFrame
from pipecat.services.llm_service import LLMService
from pipecat.services.tts_service import TTSService
from pipecat.utils.errors import ErrorCategory

from turnfsm.fsm.journal import ComponentFailed

__all__ = ["failure_of"]


def failure_of(frame: ErrorFrame, speech: str | None) -> ComponentFailed | None:
    """The failure of the LLM or the TTS; None if something else has failed, such as a tool.

    Args:
        speech: The id of the speech.
    """
    if frame.category is ErrorCategory.APPLICATION:
        return None
    error = type(frame.exception).__name__ if frame.exception is not None else "ErrorFrame"
    if isinstance(frame.processor, LLMService):
        return ComponentFailed(
            "llm", frame.processor.name, error, False, speech=speech, message=frame.error
        )
    if isinstance(frame.processor, TTSService):
        return ComponentFailed(
            "tts", frame.processor.name, error, False, speech=speech, message=frame.error
        )
    return None
