"""The session's settings in a state of the flow. LiveKit reads them at each use."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, cast

from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.pace import Pace, times
from turnfsm.runtime.livekit.stock import AgentSession

__all__ = ["Tuner", "set_pace"]

_INTERRUPTION = ("min_duration", "min_words")
_DELAYS = ("min_delay", "max_delay")
_SPECULATION = {
    "preemptive_generation": "enabled",
    "preemptive_tts": "preemptive_tts",
    "max_retries": "max_retries",
    "max_speech_duration": "max_speech_duration",
}
"""From tuning keys to the options of preemptive generation that they replace."""


def set_pace(session: AgentSession[Any], pace: Pace) -> None:
    """Scale the session's delays of endpointing, except those that the application has given. An
    agent's own delays stay."""
    if pace == "normal":
        return
    options = session.options
    given, delays = options.endpointing_overrides, cast(dict[str, Any], options.endpointing)
    paced = {name: times(pace, delays[name]) for name in _DELAYS if name not in given}
    options.endpointing_overrides = cast(Any, {**given, **paced})
    delays.update(paced)


class Tuner:
    """Applies the tuning of a state, and restores the session's own settings afterwards."""

    def __init__(self, session: AgentSession[Any]) -> None:
        self._session = session
        self._tuning = Tuning()
        self._own: dict[str, float] = {}
        self.muted = False

    def enter(self, tuning: Tuning) -> None:
        """A state with this tuning has been entered."""
        if tuning == self._tuning:
            return
        before, self._tuning = self._tuning, tuning
        options = cast(MutableMapping[str, Any], self._session.options.interruption)
        for name in _INTERRUPTION:
            self._put(options, name, getattr(before, name), getattr(tuning, name))
        self._mute(bool(tuning.mute))

    @property
    def speculation(self) -> dict[str, object]:
        """The options of preemptive generation that the current state replaces."""
        values = {key: getattr(self._tuning, name) for name, key in _SPECULATION.items()}
        return {key: value for key, value in values.items() if value is not None}

    @property
    def min_silence(self) -> float | None:
        """Seconds of pause after which the user counts as silent; None: LiveKit's value."""
        return self._tuning.min_silence

    def _put(
        self,
        options: MutableMapping[str, float],
        name: str,
        before: float | None,
        value: float | None,
    ) -> None:
        # A value set by the application during the state stays.
        if before is None or options[name] != before:
            self._own[name] = options[name]
        options[name] = self._own[name] if value is None else value

    def _mute(self, mute: bool) -> None:
        if mute and not self.muted and self._session.input.audio_enabled:
            self.muted = True
            self._session.input.set_audio_enabled(False)
        elif not mute and self.muted:
            self._session.input.set_audio_enabled(True)
            self.muted = False
