"""The replies that a realtime model is generating, before they are in the history."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs
from livekit.agents import llm

from .speech import GovernedHandle

__all__ = ["Generation", "Generations"]


@attrs.define(eq=False)
class Generation:
    """One reply that a realtime model generates.

    Attributes:
        speech: Its speech.
        held: The ids of the model's items when it began.
        over: The heard text and the calls are in the history; the rest was removed from the
            model's conversation.
    """

    speech: GovernedHandle
    held: frozenset[str]
    over: bool = False

    @property
    def stands(self) -> bool:
        """It is valid: it will be played, and its calls will be made."""
        return not (self.over or self.speech.interrupted or self.speech.done())


class Generations:
    """The replies that a realtime model generates."""

    def __init__(self) -> None:
        self._running: list[Generation] = []
        self._given: set[str] = set()

    def begins(self, speech: GovernedHandle, held: Iterable[llm.ChatItem]) -> Generation:
        """The model begins a reply.

        Args:
            speech: Its speech.
            held: The model's items.
        """
        generation = Generation(speech, frozenset(item.id for item in held))
        self._running = [*(other for other in self._running if other.stands), generation]
        return generation

    def end_all(self) -> None:
        """Another agent has taken the model over."""
        self._running.clear()

    def given(self, items: Iterable[llm.ChatItem], held: Collection[str]) -> None:
        """These items are sent to the model, so it did not generate them.

        Args:
            items: All items that the model has afterwards.
            held: The ids of the items that it already has.
        """
        self._given = {item.id for item in items if item.id in self._given or item.id not in held}

    def make(self, item: llm.ChatItem) -> bool:
        """Whether the model has generated this item for a valid reply."""
        if item.id in self._given:
            return False
        return any(running.stands and item.id not in running.held for running in self._running)
