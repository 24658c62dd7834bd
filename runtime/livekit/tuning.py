"""Settings of the session that hold while a state is held; LiveKit reads them at each use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from fsm.flow import Tuning

if TYPE_CHECKING:
    from .session import TurnSession

__all__ = ["Tuner"]

_PLACES = {
    "min_duration": ("interruption", "min_duration"),
    "min_words": ("interruption", "min_words"),
    "preemptive_generation": ("preemptive_generation", "enabled"),
    "max_retries": ("preemptive_generation", "max_retries"),
    "max_speech_duration": ("preemptive_generation", "max_speech_duration"),
}
"""Tuning to the option of `AgentSession` that it replaces."""


class Tuner:
    """Puts a state's tuning into force, and the session's own settings back."""

    def __init__(self, session: TurnSession[Any]) -> None:
        self._session = session
        self._own: dict[str, Any] = {}
        self._muted = False

    def enter(self, state: str) -> None:
        """A state has been entered."""
        tuning = self._session.turn.flow.states[state].tuning
        for field in attrs.fields(Tuning):
            if field.name in _PLACES:
                self._set(field.name, getattr(tuning, field.name))
        self._mute(bool(tuning.mute))

    def _set(self, name: str, value: Any) -> None:
        section, key = _PLACES[name]
        options: dict[str, Any] = getattr(self._session.options, section)  # a plain dict
        if value is not None:
            self._own.setdefault(name, options[key])
            options[key] = value
        elif name in self._own:
            options[key] = self._own.pop(name)

    def _mute(self, mute: bool) -> None:
        if mute != self._muted:
            self._muted = mute
            self._session.input.set_audio_enabled(not mute)
