"""Stored beside a session's journal: the conversation and unfinished turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.store.past import KEPT, Past

from .conductor import Conductor

__all__ = ["Conversation", "StoredConversation"]

Json = Mapping[str, object]


class Conversation(Protocol):
    """The conversation as the framework represents it."""

    @property
    def agent(self) -> str:
        """The id of the active agent."""

    def moved(self) -> bool:
        """Something may have changed since the last call."""

    def shown(self) -> Iterable[str]:
        """The ids of the items that the active agent's model sees, in order."""

    def items(self) -> Iterator[tuple[str, Json]]:
        """The items that are new or changed since the last call, each with its id."""

    def turn(self, info: object) -> Json:
        """A turn of the user: its `text`, and whatever the framework needs."""

    def waiting(self) -> Iterator[Json]:
        """Pending turns that the conductor does not know of."""

    def uncommitted(self) -> str:
        """The transcript that is in no turn yet."""


class StoredConversation:
    """Collects the changes in a session's conversation since the last write.

    Args:
        keeping: Writes the changes from now on.
        past: The conversation with an earlier worker.
    """

    def __init__(
        self, conversation: Conversation, conductor: Conductor, keeping: Keeping, past: Past | None
    ) -> None:
        self._conversation, self._conductor = conversation, conductor
        self._begun = past is not None and past.begun
        self._stores_text = keeping.stores_text
        self._shown: dict[str, None] = {}  # as the next worker reads it
        self._agent: str | None = None
        self._turns: Json = {}
        keeping.begin(conductor.turn.journal, self.gather)

    def gather(self) -> Iterator[Json]:
        """The changes since the last write."""
        if self._stores_text and self._conversation.moved():
            yield from self._items()
        turns = self._open_turns()
        if turns != self._turns:
            self._turns = turns
            yield {KEPT: "turns", "data": turns}

    def _items(self) -> Iterator[Json]:
        shown, agent = dict.fromkeys(self._conversation.shown()), self._conversation.agent
        for id, item in self._conversation.items():
            if id in shown:
                self._shown[id] = None
            yield {KEPT: "item", "data": {"item": item, "shown": id in shown}}
        if agent != self._agent or [*self._shown] != [*shown]:
            yield {KEPT: "agent", "data": {"agent": agent, "shown": [*shown]}}
            self._agent, self._shown = agent, shown

    def _open_turns(self) -> Json:
        conductor, conversation = self._conductor, self._conversation
        turns, resumption = conductor.turns, conductor.host.resumption
        waiting = [conversation.turn(info) for info in turns.waiting() if info.new_transcript]
        waiting += conversation.waiting()
        return {
            "begun": self._begun,
            "outcomes": dict(conductor.log.turns.outcomes),
            "waiting": waiting if self._stores_text else [],
            "uncommitted": conversation.uncommitted() if self._stores_text else "",
            "words_due": conductor.utterance.due,
            "unsaid": dict(resumption.unsaid) if resumption is not None else {},
        }
