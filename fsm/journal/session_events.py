"""The events of a session that are not triggers: failures, missing audio, the close.

Each has its own kind of note in the journal. `session_event` converts such a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import attrs

from turnfsm.fsm.fields import note_kind

from .records import Note

__all__ = [
    "PARTS",
    "AgentEntryFailed",
    "AudioResumed",
    "AudioStopped",
    "Closed",
    "ComponentFailed",
    "ComponentPart",
    "ComponentSwitched",
    "ReplyAudio",
    "ReplyText",
    "SessionEvent",
    "VoiceUnrecognised",
    "session_event",
]

ComponentPart = Literal["stt", "llm", "tts", "vad", "realtime"]
PARTS: tuple[ComponentPart, ...] = get_args(ComponentPart)
"""The components of a session that can fail; ``realtime`` is a realtime model."""

LONG_VOICE = 1.0
"""Seconds of speech that are probably more than a noise."""

_NAMES = {"stt": "STT", "llm": "LLM", "tts": "TTS", "vad": "VAD", "realtime": "realtime model"}


def _text(instance: object, field: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{field.name!r} is text, not {value!r}")


def _number(instance: object, field: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{field.name!r} is a number, not {value!r}")


def _flag(instance: object, field: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{field.name!r} is true or false, not {value!r}")


def _part(instance: object, field: attrs.Attribute[Any], value: object) -> None:
    if value not in PARTS:
        raise TypeError(f"{field.name!r} is one of {', '.join(PARTS)}, not {value!r}")


class _Event:
    """A note with typed fields."""

    KIND: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.KIND = note_kind(cls)

    def fields(self) -> dict[str, Any]:
        """The data of the note, without unknown fields."""
        values = [(f.name, getattr(self, f.name)) for f in attrs.fields(type(self))]  # type: ignore[arg-type]
        return {name: value for name, value in values if value is not None}


@attrs.frozen
class ComponentFailed(_Event):
    """A component has failed.

    Attributes:
        part: The kind of component.
        component: Its label, such as ``livekit.plugins.openai.stt.STT``.
        error: The class of the error.
        recoverable: It is retried, or another component takes over. False: it has failed for good.
        status: The HTTP status, if there is one.
        speech: The speech that it worked for, if any.
        message: The error's message. It may quote the conversation, so a redacted journal does not
            have it.

    Example:
        >>> from turnfsm.fsm.journal import ComponentFailed
        >>> str(ComponentFailed("llm", "openai.LLM", "APIStatusError", False, 429))
        'the LLM failed (APIStatusError 429)'
    """

    part: ComponentPart = attrs.field(validator=_part)
    component: str = attrs.field(validator=_text)
    error: str = attrs.field(validator=_text)
    recoverable: bool = attrs.field(validator=_flag)
    status: int | None = attrs.field(default=None, validator=attrs.validators.optional(_number))
    speech: str | None = attrs.field(default=None, validator=attrs.validators.optional(_text))
    message: str | None = attrs.field(default=None, validator=attrs.validators.optional(_text))

    @property
    def name(self) -> str:
        """The component's name for people, such as ``LLM``."""
        return _NAMES[self.part]

    def __str__(self) -> str:
        status = "" if self.status is None else f" {self.status}"
        return f"the {self.name} failed ({self.error}{status})"


@attrs.frozen
class AgentEntryFailed(_Event):
    """An agent's ``on_enter`` has raised, so the rest of it, such as its tasks, did not run.

    Attributes:
        agent: The agent's label.
        error: The class of the error.
        message: The error's message; redacted like that of `ComponentFailed`.
    """

    agent: str = attrs.field(validator=_text)
    error: str = attrs.field(validator=_text)
    message: str | None = attrs.field(default=None, validator=attrs.validators.optional(_text))

    def __str__(self) -> str:
        return f"on_enter of {self.agent} failed ({self.error}), and the rest of it did not run"


@attrs.frozen
class ComponentSwitched(_Event):
    """A fallback adapter has stopped using a component, or uses it again.

    Attributes:
        part: The kind of component.
        component: Its label.
        available: It is used again.
    """

    part: ComponentPart = attrs.field(validator=_part)
    component: str = attrs.field(validator=_text)
    available: bool = attrs.field(validator=_flag)


@attrs.frozen
class AudioStopped(_Event):
    """No user audio has arrived for some seconds, although the microphone is on.

    Attributes:
        since: When the last frame arrived, in seconds of the journal; 0 if none ever did.
    """

    since: float = attrs.field(validator=_number)


@attrs.frozen
class AudioResumed(_Event):
    """User audio arrives again."""


@attrs.frozen
class VoiceUnrecognised(_Event):
    """Speech, perhaps with short pauses, that got no transcript.

    Attributes:
        since, until: When it began and ended, in seconds of the journal.
        longest: Seconds of its longest part without a pause. A short one may be a noise.
    """

    since: float = attrs.field(validator=_number)
    until: float = attrs.field(validator=_number)
    longest: float = attrs.field(validator=_number)

    @property
    def long(self) -> bool:
        """It was long enough to be probably more than a noise."""
        return self.longest >= LONG_VOICE


@attrs.frozen
class ReplyText(_Event):
    """The first text of a step has arrived, from the model or from the application's `say`.

    Attributes:
        speech: The speech.
    """

    speech: str = attrs.field(validator=_text)


@attrs.frozen
class ReplyAudio(_Event):
    """The first audio of a step has reached the output, which may hold it back.

    Attributes:
        speech: The speech.
    """

    speech: str = attrs.field(validator=_text)


@attrs.frozen
class Closed(_Event):
    """The session has closed. This is the last record of a journal; without it the session crashed.

    Attributes:
        reason: Why, such as ``user_initiated``, ``participant_disconnected`` or ``error``.
        error: The failure, if the reason is an error, such as ``the LLM failed (APIError)``.
    """

    reason: str = attrs.field(validator=_text)
    error: str | None = attrs.field(default=None, validator=attrs.validators.optional(_text))

    def __str__(self) -> str:
        return f"the session closed: {self.reason}" + (f", {self.error}" if self.error else "")


SessionEvent: TypeAlias = (
    AgentEntryFailed
    | ComponentFailed
    | ComponentSwitched
    | AudioStopped
    | AudioResumed
    | VoiceUnrecognised
    | ReplyText
    | ReplyAudio
    | Closed
)

_KINDS: Mapping[str, type[SessionEvent]] = {kind.KIND: kind for kind in get_args(SessionEvent)}


def session_event(note: Note) -> SessionEvent | None:
    """The typed value of a note; None if the note is of another kind.

    Ignores fields that this version does not know.

    Raises:
        TypeError: A field is missing, or of another type. The message names it.

    Example:
        >>> from turnfsm.fsm.journal import Note, session_event
        >>> session_event(Note(9, 4.5, "closed", {"reason": "user_initiated"}))
        Closed(reason='user_initiated', error=None)
    """
    kind = _KINDS.get(note.kind)
    if kind is None:
        return None
    fields: dict[str, Any] = {}
    for field in attrs.fields(kind):
        if field.name in note.data:
            fields[field.name] = note.data[field.name]
        elif field.default is attrs.NOTHING:
            raise TypeError(f"a note {note.kind!r} without {field.name!r}")
    return kind(**fields)
