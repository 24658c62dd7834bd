"""Reads LiveKit's reports about its components: STT, LLM, TTS, VAD, realtime model."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from livekit.agents import APIStatusError
from livekit.agents.vad import VAD
from livekit.rtc import EventEmitter

from turnfsm.fsm.journal import Closed, ComponentFailed, ComponentPart, ComponentSwitched

from .speech import current_speech

__all__ = ["closed_by", "failure_of", "follow_fallbacks", "vad_failure"]

_PARTS: dict[str, ComponentPart] = {
    "stt_error": "stt",
    "llm_error": "llm",
    "tts_error": "tts",
    "realtime_model_error": "realtime",
}


def failure_of(error: Any) -> ComponentFailed | None:
    """The failed component in LiveKit's event ``error``; None if the event is about something else.

    LiveKit emits the event in the task of a speech.
    """
    part = _PARTS.get(getattr(error, "type", ""))
    if part is None:
        return None
    speech = current_speech()
    raised: BaseException = error.error
    return ComponentFailed(
        part=part,
        component=str(error.label),
        error=type(raised).__name__,
        recoverable=bool(error.recoverable),
        status=raised.status_code if isinstance(raised, APIStatusError) else None,
        speech=speech.id if speech is not None and part != "stt" else None,
        message=str(raised),
    )


def vad_failure(vad: VAD, raised: BaseException) -> ComponentFailed:
    """The VAD has raised an error. LiveKit only logs it, and detects no more speech."""
    kind, error = type(vad), type(raised).__name__
    label = f"{kind.__module__}.{kind.__qualname__}"
    return ComponentFailed("vad", label, error, recoverable=False, message=str(raised))


def closed_by(reason: Enum, error: Any) -> Closed:
    """LiveKit's reason for closing a session."""
    failure = failure_of(error)
    return Closed(str(reason.value), str(failure) if failure is not None else None)


def follow_fallbacks(
    stt: Any, llm: Any, tts: Any, record: Callable[[ComponentSwitched], None]
) -> Callable[[], None]:
    """Report when a fallback adapter stops using a component, or uses it again. Returns a function
    that stops the reports."""

    def switched(part: ComponentPart, field: str) -> Callable[[Any], None]:
        def on_event(event: Any) -> None:
            label = str(getattr(event, field).label)
            record(ComponentSwitched(part, label, bool(event.available)))

        return on_event

    events = (
        (stt, "stt_availability_changed", switched("stt", "stt")),
        (llm, "llm_availability_changed", switched("llm", "llm")),
        (llm, "realtime_availability_changed", switched("realtime", "realtime_model")),
        (tts, "tts_availability_changed", switched("tts", "tts")),
    )
    followed = [event for event in events if isinstance(event[0], EventEmitter)]
    for component, name, on_event in followed:
        component.on(name, on_event)

    def stop() -> None:
        for component, name, on_event in followed:
            component.off(name, on_event)

    return stop
