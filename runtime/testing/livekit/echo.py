"""A line that echoes: the microphone hears what the agent says."""

from __future__ import annotations

import attrs

from .speaker import ScriptedAudioOutput
from .user import FRAME, ScriptedUser, Utterance

__all__ = ["Echo"]


class Echo:
    """What the microphone picks up from the audio output while the user is silent.

    Args:
        user: The user, whose sounds cover the echo.
        output: The audio output.
    """

    def __init__(self, user: ScriptedUser, output: ScriptedAudioOutput) -> None:
        self._user, self._output = user, output
        self._code = 0

    def code_at(self, t: float) -> int:
        """The utterance that echoes at `t`, or 0. It grows while it plays."""
        if not self._output.sounding:
            self._code = 0
            return 0
        if not self._code:
            self._user.utterances.append(Utterance(t - FRAME / 2, FRAME))
            self._code = len(self._user.utterances)
        begun = self._user.utterance(self._code)
        seconds, words = t + FRAME / 2 - begun.at, self._output.words_now
        self._user.utterances[self._code - 1] = attrs.evolve(begun, duration=seconds, text=words)
        return self._code
