"""The conversation of a session as the store saves it: LiveKit's chat items, as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from livekit.agents import Agent, llm

from .overrides.history import conversation_of
from .overrides.session import GovernedSession

__all__ = ["StoredItems"]

INSTRUCTIONS = "lk.agent_task.instructions"
"""The id prefix of an agent's instructions. They are not stored: the next agent has its own."""


class StoredItems:
    """The `Conversation` that the store saves.

    Args:
        agent: The agent that is about to become active.
        conversation: Its initial conversation.
        given: The ids of the items that it had before it was restored. The application also gives
            these to the next worker's agent.
    """

    def __init__(
        self,
        session: GovernedSession[Any],
        agent: Agent,
        conversation: llm.ChatContext,
        given: Collection[str],
    ) -> None:
        self._session, self._first, self._before = session, agent, conversation
        self._given = frozenset(given)
        self._stored: set[str] = set()
        self._state: tuple[object, ...] = ()

    @property
    def agent(self) -> str:
        return self._agent.id

    def moved(self) -> bool:
        history, own = self._session.history.items, self._own
        last = (items[-1].id for items in (history, own) if items)
        state = (self._agent, len(history), len(own), *last)
        moved, self._state = state != self._state, state
        return moved

    def shown(self) -> Iterator[str]:
        return (item.id for item in self._own if self._is_stored(item))

    def items(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for item in (*self._session.history.items, *self._own):
            if item.id not in self._stored and self._is_stored(item):
                self._stored.add(item.id)
                yield item.id, as_json(item)

    def turn(self, info: Any) -> Mapping[str, Any]:
        return {"text": info.new_transcript, "confidence": info.transcript_confidence}

    def waiting(self) -> Iterator[Mapping[str, Any]]:
        if (run := self._session._life.waiting) is not None:
            yield {"text": run["user_input"], "confidence": 1.0}

    def uncommitted(self) -> str:
        activity = self._session.activity
        return activity.uncommitted_transcript if activity is not None else ""

    @property
    def _agent(self) -> Agent:
        activity = self._session.activity
        return activity.agent if activity is not None else self._first

    @property
    def _own(self) -> Sequence[llm.ChatItem]:
        activity = self._session.activity
        context = conversation_of(activity) if activity is not None else self._before
        return context.items

    def _is_stored(self, item: llm.ChatItem) -> bool:
        own = item.type == "agent_config_update" or item.id.startswith(INSTRUCTIONS)
        return not own and item.id not in self._given


def as_json(item: llm.ChatItem) -> dict[str, Any]:
    """An item of a conversation as JSON, without pictures and audio."""
    (data,) = llm.ChatContext([item]).to_dict(exclude_timestamp=False, exclude_metrics=True)[
        "items"
    ]
    return data  # type: ignore[no-any-return]
