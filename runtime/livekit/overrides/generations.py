"""What a realtime model says and calls now. The history does not have it yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs
from livekit.agents import llm

from .speech import GovernedHandle

__all__ = ["Generation", "Generations"]


@attrs.define(eq=False)
class Generation:
    """A reply that a realtime model generates.

    Attributes:
        speech: The speech that says it.
        held: The ids of what the model had when it began.
        over: What was heard and called is in the history, and the model has forgotten the rest.
    """

    speech: GovernedHandle
    held: frozenset[str]
    over: bool = False

    @property
    def stands(self) -> bool:
        """It is still to be heard, and its calls are to be made."""
        return not (self.over or self.speech.interrupted or self.speech.done())


class Generations:
    """The replies that a realtime model generates."""

    def __init__(self) -> None:
        self._running: list[Generation] = []
        self._given: set[str] = set()

    def begins(self, speech: GovernedHandle, held: Iterable[llm.ChatItem]) -> Generation:
        """The model begins a reply.

        Args:
            speech: The speech that says it.
            held: What the model has.
        """
        generation = Generation(speech, frozenset(item.id for item in held))
        self._running = [*(other for other in self._running if other.stands), generation]
        return generation

    def end_all(self) -> None:
        """Another agent has taken the model over."""
        self._running.clear()

    def given(self, items: Iterable[llm.ChatItem], held: Collection[str]) -> None:
        """The model is sent these items: it has not made them.

        Args:
            items: All that the model has then.
            held: The ids of what it has already.
        """
        self._given = {item.id for item in items if item.id in self._given or item.id not in held}

    def make(self, item: llm.ChatItem) -> bool:
        """Whether the model has made this item for a reply that stands."""
        if item.id in self._given:
            return False
        return any(running.stands and item.id not in running.held for running in self._running)
