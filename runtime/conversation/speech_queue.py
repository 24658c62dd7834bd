"""The speeches that wait for the floor, and which of them come before a deferred turn."""

from __future__ import annotations

from .floor import Floor
from .ports import Agent, Speech

__all__ = ["SpeechQueue"]


class SpeechQueue:
    """The speeches that were scheduled and have not taken the floor yet.

    Args:
        floor: The floor.
    """

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._waiting: list[tuple[Agent, Speech]] = []
        self._first: tuple[Speech, ...] = ()

    def scheduled(self, agent: Agent, speech: Speech) -> None:
        """A speech of this agent waits for the floor."""
        self._waiting.append((agent, speech))

    def left(self, speech: Speech) -> None:
        """A speech has the floor, or will never have it."""
        self._waiting = [entry for entry in self._waiting if entry[1] is not speech]

    @property
    def empty(self) -> bool:
        """No speech waits for the floor."""
        return not self._waiting

    def turn_deferred(self, agent: Agent | None) -> None:
        """A turn was deferred: the speeches of this agent that are queued now come before it."""
        self._first = tuple(speech for owner, speech in self._waiting if owner is agent)

    def comes_first(self, agent: Agent) -> bool:
        """A speech that was scheduled before the deferred turn is still queued."""
        first = (speech for speech in self._first if not speech.interrupted)
        return any((agent, s) in self._waiting or self._floor.holds(s) for s in first)
