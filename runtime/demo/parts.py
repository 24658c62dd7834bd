"""The components of a conversation, spoken or typed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.heard import Heard

from .llm import RuleLLM
from .pace import Pace
from .script import FALLBACK, RULES, Line
from .tape import Sound

__all__ = ["MIN_SILENCE", "SessionStack", "Speakers", "Stack", "joined"]

MIN_SILENCE = 0.3
"""Seconds of silence after which the demo's VAD and STT report the end of speech."""
_GAP = 0.3  # shorter silences, in seconds, are delays of the machine, not pauses


def joined(sounds: Iterable[Sound], texts: Iterable[str]) -> list[Heard]:
    """Sounds with their texts; a short silence inside of an utterance is no break."""
    spoken: list[Heard] = []
    utterance = -1
    for sound, text in zip(sounds, texts, strict=True):
        last = spoken[-1] if sound.segment == utterance else None
        if last is not None and (sound.at - last.end < _GAP or not last.text):
            spoken[-1] = Heard(last.start, sound.end, f"{last.text} {text}".strip())
        else:
            spoken.append(Heard(sound.at, sound.end, text))
        utterance = sound.segment
    return spoken


class Speakers(Protocol):
    """What the demo needs of a session."""

    @property
    def agent_state(self) -> str:
        """``listening``, ``thinking`` or ``speaking``."""

    @property
    def user_state(self) -> str:
        """``listening`` or ``speaking``."""


class Stack(Protocol):
    """The components of one conversation, here without sound.

    Args:
        pace: The clock of the conversation.

    Attributes:
        output: Where the agent is heard.
    """

    pace: Pace
    llm: RuleLLM
    output: Any

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.llm = RuleLLM(RULES, fallback=FALLBACK, pace=pace)

    async def prepare(self, lines: tuple[Line, ...]) -> None:
        """Synthesise the lines in advance, so that none is late."""

    async def say(self, line: Line) -> float:
        """Speak the line into the microphone. Returns the conversation time of its end."""

    def heard(self) -> list[Heard]:
        """The agent's audio that was heard so far."""

    def write_audio(self, path: Path) -> bool:
        """Write both voices as a stereo WAV. Returns False if there was no audio."""
        return False

    async def transcribe_back(self) -> list[str]:
        """The transcript of each utterance of the agent, from its audio."""
        return []

    async def aclose(self) -> None:
        """Close everything, after the end of the session."""


class SessionStack(Stack, Protocol):
    """The components of a session of LiveKit."""

    input: Any

    def options(self) -> dict[str, Any]:
        """The keyword arguments of the session; their delays count wall time."""
        return {
            "llm": self.llm,
            "turn_handling": {
                "turn_detection": "vad",
                "endpointing": {"min_delay": self.pace.wall(0.5), "max_delay": self.pace.wall(2.0)},
                "interruption": {"mode": "vad", "min_duration": 0.3},  # of audio, which is faster
            },
            "aec_warmup_duration": None,  # it would drop speech over the first reply
            "user_away_timeout": None,
        }

    def attach(self, session: AgentSession[Any]) -> None:
        """Attach the microphone and the audio output to the session, before it starts."""
        session.input.audio = self.input
        session.output.audio = self.output
