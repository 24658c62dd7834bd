"""The interface of the components of a conversation, spoken or typed."""

from pathlib import Path
from typing import Any, Protocol

from attrs import frozen
from livekit.agents import llm

from .pace import Pace
from .script import Line

__all__ = ["AudioOutput", "Speakers", "Spoken", "Stack"]


@frozen
class Spoken:
    """Audio of the agent that was heard without a break, in conversation time."""

    start: float
    end: float
    text: str


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
    llm: llm.LLM[Any]

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
