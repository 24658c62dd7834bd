"""The same conversation without sound or models: a typed user and estimated durations.

On a loop in virtual time (`turnfsm.testing.run`) it takes no time; on an ordinary loop it takes as
long as speech.
"""

import asyncio
from collections.abc import Collection
from typing import Any, Self

from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.heard import Heard
from turnfsm.runtime.testing.livekit import (
    ScriptedAudioInput,
    ScriptedAudioOutput,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
)

from .pace import Pace
from .parts import MIN_SILENCE, SessionStack, Stack
from .script import SOUNDS, Line
from .words import words

__all__ = ["TextStack", "Typed", "interims_of", "seconds_of"]

_WORD = 0.3  # seconds that a word takes to say
_SHORTEST = 0.6  # seconds that the shortest sound takes


def seconds_of(line: Line) -> float:
    """How long it takes to say a line."""
    return max(_SHORTEST, _WORD * len(line.text.split()))


def interims_of(line: Line) -> list[tuple[float, str]]:
    """The interim transcripts of a line: one after each word, with the seconds until it comes."""
    said = line.text.split()
    each = seconds_of(line) / len(said)
    return [((n + 1) * each, " ".join(said[: n + 1])) for n in range(len(said))]


class Typed(Stack):
    """What the components of a typed conversation have in common.

    Args:
        pace: The clock of the conversation, at speed 1.
        ignore: Phrases of which the STT gives no transcript.
    """

    def __init__(self, pace: Pace, ignore: Collection[str] = SOUNDS) -> None:
        if pace.speed != 1.0:
            raise ValueError("the text mode has no speed of its own: it runs in virtual time")
        super().__init__(pace)
        self._ignore = [words(phrase) for phrase in ignore]

    @classmethod
    async def load(cls, pace: Pace, ignore: Collection[str] = SOUNDS) -> Self:
        """Load no model."""
        return cls(pace, ignore)

    def is_noise(self, line: Line) -> bool:
        """Whether the STT gives no transcript of a line."""
        return words(line.text) in self._ignore


class TextStack(Typed, SessionStack):
    """The scripted counterpart of `AudioStack`, with the same methods."""

    def __init__(self, pace: Pace, ignore: Collection[str] = SOUNDS) -> None:
        super().__init__(pace, ignore)
        self.tts = ScriptedTTS(seconds_per_word=_WORD)
        self.output = ScriptedAudioOutput(self.tts)
        self._user = ScriptedUser()
        self.input = ScriptedAudioInput(self._user)

    def options(self) -> dict[str, Any]:
        vad = ScriptedVAD(min_silence=MIN_SILENCE)
        return {**super().options(), "stt": ScriptedSTT(self._user), "tts": self.tts, "vad": vad}

    def attach(self, session: AgentSession[Any]) -> None:
        self.input.start(asyncio.get_running_loop().time() - self.pace.now())
        super().attach(session)

    async def say(self, line: Line) -> float:
        now, seconds = self.pace.now(), seconds_of(line)
        if self.is_noise(line):
            self._user.makes_noise(at=now, duration=seconds)
        else:
            interims = tuple(interims_of(line))
            self._user.says(line.text, at=now, duration=seconds, interims=interims)
        await self.pace.sleep(seconds)
        return self.pace.now()

    def heard(self) -> list[Heard]:
        start = asyncio.get_running_loop().time() - self.pace.now()
        return [heard.since(start) for heard in self.output.heard]
