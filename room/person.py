"""A person who calls the agent, whatever carries the call: what was heard, shown and read."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from attrs import define, field, frozen

from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.speech import PCM

from .ear import Ear

__all__ = ["AGENT_STATE", "Change", "Person", "Text"]

AGENT_STATE = "lk.agent.state"
_LOOK = 0.02  # seconds between two checks
_COMES = 60.0  # the limit of every wait, in seconds


@frozen
class Change:
    """The value of an attribute of the agent, from this conversation time on."""

    at: float
    name: str
    value: str


@define
class Text:
    """A transcript, in pieces with the conversation time of each."""

    of: str  # the participant who spoke
    segment: str
    final: bool
    pieces: list[tuple[float, str]] = field(factory=list)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece for _, piece in self.pieces)


class Person(ABC):
    """One caller. Times are seconds of conversation.

    Attributes:
        ear: Records the agent's audio.
        changes: All attributes that the agent has published.
        texts: All transcripts that were published.
        wall: The date at conversation time 0.
    """

    def __init__(self, identity: str = "caller") -> None:
        self.identity = identity
        self.pace = Pace()
        self.ear = Ear(self.pace.now)
        self.changes: list[Change] = []
        self.texts: list[Text] = []
        self.wall = 0.0

    @abstractmethod
    async def agent_comes(self, seconds: float = _COMES) -> None:
        """Wait for an agent that listens."""

    @abstractmethod
    async def say(self, pcm: PCM) -> float:
        """Speak. Returns the conversation time of the end."""

    @abstractmethod
    def spoken(self) -> PCM:
        """Everything that the caller has said, from conversation time 0, at RATE Hz."""

    @property
    def states(self) -> list[str]:
        """All states that the agent has published."""
        return [change.value for change in self.changes if change.name == AGENT_STATE]

    @property
    def state(self) -> str:
        """The published state of the agent."""
        return self.states[-1] if self.states else ""

    @property
    def agent_texts(self) -> list[Text]:
        """The transcripts of the agent."""
        return [text for text in self.texts if text.of != self.identity]

    def heard_of(self, identity: str) -> list[str]:
        """The final transcripts of one participant, one text for each segment."""
        return [text.text for text in self.texts if text.of == identity and text.final]

    async def until(self, what: Any, seconds: float = _COMES, why: str = "") -> float:
        """Wait until a condition holds. Returns the conversation time, or raises TimeoutError with
        the reason."""
        end = self.pace.now() + seconds
        while not what():
            if self.pace.now() > end:
                said = "; ".join(text.text for text in self.agent_texts) or "nothing"
                agent = f"the agent is {self.state or 'not there'} and has said: {said}"
                raise TimeoutError(f"{why or 'it did not come'} in {seconds:g} s; {agent}")
            await asyncio.sleep(_LOOK)
        return self.pace.now()
