"""What a conversation needs from its surroundings, spoken or typed."""

from pathlib import Path
from typing import Any, Protocol

from attrs import frozen
from livekit.agents import AgentSession, llm

from .pace import Pace
from .script import Line

__all__ = ["AudioOutput", "Spoken", "Stack"]


@frozen
class Spoken:
    """Audio of the agent that was heard without a break, in conversation time."""

    start: float
    end: float
    text: str


class AudioOutput(Protocol):
    """What is needed of an audio output."""

    @property
    def sounding(self) -> bool:
        """Whether the agent is heard at this moment."""

    def on(self, event: Any, callback: Any) -> Any:
        """Subscribe to an event of the output."""


class Stack(Protocol):
    """The components of one session: `AudioStack` or `TextStack`."""

    pace: Pace
    llm: llm.LLM[Any]

    @property
    def output(self) -> AudioOutput:
        """Where the agent is heard."""

    def options(self) -> dict[str, Any]:
        """The keyword arguments of the session."""

    def attach(self, session: AgentSession[Any]) -> None:
        """Give the session its microphone and its audio output, before its start."""

    async def prepare(self, lines: tuple[Line, ...]) -> None:
        """Have the lines ready, so that none is late."""

    async def say(self, line: Line) -> float:
        """Speak the line into the microphone; the conversation time of its end."""

    def heard(self) -> list[Spoken]:
        """Everything that was heard of the agent so far."""

    def write_audio(self, path: Path) -> bool:
        """Write both voices as a stereo WAV; False where there was no sound."""

    async def transcribe_back(self) -> list[str]:
        """What a listener understood of each utterance of the agent."""

    async def aclose(self) -> None:
        """Close what was opened, after the session's end."""
