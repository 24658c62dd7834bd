"""The section `not_heard`: the agent says that it cannot hear or understand the user."""

from __future__ import annotations

from turnfsm.fsm.flow import Action, Fact, Names, Texts, Transition, Trigger
from turnfsm.fsm.source import Path

from .parts import Parts
from .spoken import BUSY, BY_WORDS

__all__ = ["add_not_heard"]

_SECTION: Path = ("not_heard",)
_SPEECH = "The user has spoken, and no transcript has come."
_AUDIO = "No audio of the user comes, although the microphone is on."


def add_not_heard(parts: Parts) -> None:
    """Once until a transcript comes, the agent says that it has not understood the user."""
    if (not_heard := parts.file.not_heard) is None:
        return
    parts.can_say(_SECTION)
    parts.user_typed(_SECTION)
    _says(parts, "voice_unrecognised", _SPEECH, not_heard.say, BY_WORDS)
    if not_heard.no_audio:
        resumed = "The user's audio has stopped, and comes again."
        parts.event("audio_resumed", Trigger(is_=resumed), _SECTION)
        parts.trigger("listening", "audio_resumed", (Transition(),), _SECTION)
        ends = (*BY_WORDS, "audio_resumed")
        _says(parts, "audio_stopped", _AUDIO, not_heard.no_audio, ends)


def _says(parts: Parts, trigger: str, means: str, texts: Texts, ends: Names) -> None:
    said, action = f"{trigger}_said", f"say_{trigger}"
    parts.event(trigger, Trigger(is_=means), _SECTION)
    parts.action(action, Action(say=texts), _SECTION)
    parts.fact("session", said, Fact(set_by=(trigger,), cleared_by=ends), _SECTION)
    unless = (said, *BUSY, "turn_open", "turn_deferred")
    row = Transition(conditions=("can_say",), unless=unless, actions=(action,))
    parts.trigger("listening", trigger, (row,), _SECTION)
