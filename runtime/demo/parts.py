"""The interface of the components of a conversation, spoken or typed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen

from .llm import RuleLLM
from .pace import Pace
from .script import Line
from .tape import Sound

__all__ = ["AudioOutput", "Speakers", "Spoken", "Stack", "joined", "turn_handling"]

_GAP = 0.3  # shorter silences, in seconds, are delays of the machine, not pauses


@frozen
class Spoken:
    """Audio of the agent that was heard without a break, in conversation time."""

    start: float
    end: float
    text: str


def joined(sounds: Iterable[Sound], texts: Iterable[str]) -> list[Spoken]:
    """Sounds with their texts; a short silence inside of an utterance is no break."""
    spoken: list[Spoken] = []
    utterance = -1
    for sound, text in zip(sounds, texts, strict=True):
        last = spoken[-1] if sound.segment == utterance else None
        if last is not None and (sound.at - last.end < _GAP or not last.text):
            spoken[-1] = Spoken(last.start, sound.end, f"{last.text} {text}".strip())
        else:
            spoken.append(Spoken(sound.at, sound.end, text))
        utterance = sound.segment
    return spoken


def turn_handling(pace: Pace) -> dict[str, Any]:
    """The options of a session about turns; their delays count wall time."""
    return {
        "turn_detection": "vad",
        "endpointing": {"min_delay": pace.wall(0.5), "max_delay": pace.wall(2.0)},
        "interruption": {"mode": "vad", "min_duration": 0.3},  # of audio, which is already faster
    }


class AudioOutput(Protocol):
    """What the demo needs of an audio output."""

    @property
    def sounding(self) -> bool:
        """Whether the agent's audio is playing now."""


class Speakers(Protocol):
    """What the demo needs of a session."""

    @property
    def agent_state(self) -> str:
        """``listening``, ``thinking`` or ``speaking``."""

    @property
    def user_state(self) -> str:
        """``listening`` or ``speaking``."""


class Stack(Protocol):
    """The components of one conversation: `AudioStack`, `TextStack` or `PipelineStack`."""

    pace: Pace
    llm: RuleLLM

    @property
    def output(self) -> AudioOutput:
        """Where the agent is heard."""

    async def prepare(self, lines: tuple[Line, ...]) -> None:
        """Synthesise the lines in advance, so that none is late."""

    async def say(self, line: Line) -> float:
        """Speak the line into the microphone. Returns the conversation time of its end."""

    def heard(self) -> list[Spoken]:
        """The agent's audio that was heard so far."""

    def write_audio(self, path: Path) -> bool:
        """Write both voices as a stereo WAV. Returns False if there was no audio."""

    async def transcribe_back(self) -> list[str]:
        """The transcript of each utterance of the agent, from its audio."""

    async def aclose(self) -> None:
        """Close everything, after the end of the session."""
