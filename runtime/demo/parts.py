"""The interface of the components of a conversation, spoken or typed."""

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
    """What the demo needs of an audio output."""

    @property
    def sounding(self) -> bool:
        """Whether the agent's audio is playing now."""

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
        """Attach the microphone and the audio output to the session, before it starts."""

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
