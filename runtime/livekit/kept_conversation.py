"""What the store keeps of a session besides its journal: the conversation and unfinished turns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from livekit.agents import Agent, llm

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.deferred import Deferred
from turnfsm.runtime.store.past import KEPT

__all__ = ["KeptConversation"]

INSTRUCTIONS = "lk.agent_task.instructions"
"""How ids of an agent's instructions begin. They are not kept: the next agent has its own."""


class KeptSession(Protocol):
    """What is written of a session."""

    _conductor: Conductor

    @property
    def history(self) -> llm.ChatContext: ...
    @property
    def activity(self) -> Any: ...
    @property
    def deferred(self) -> tuple[Deferred[Any], ...]: ...


class KeptConversation:
    """Collects what has changed in a session's conversation since the last write.

    Args:
        agent: The agent that is about to become active.
        given: The ids of the items that it had before it was restored. The application gives these
            to the next worker's agent, too.
        begun: The user has heard or said something with a worker before.
        words: The words of the conversation may be kept.
    """

    def __init__(
        self,
        session: KeptSession,
        agent: Agent,
        given: Collection[str],
        *,
        begun: bool,
        words: bool,
    ) -> None:
        self._session = session
        self._agent = agent
        self._given = frozenset(given)
        self._begun = begun
        self._words = words
        self._known: set[str] = set()
        self._shown: set[str] = set()
        self._looked: tuple[object, ...] = ()
        self._turns: Mapping[str, Any] = {}
        self._agent_id: str | None = None

    def gather(self) -> Iterator[Mapping[str, Any]]:
        """What has changed."""
        if self._words:
            yield from self._items()
        turns = self._open_turns()
        if turns != self._turns:
            self._turns = turns
            yield {KEPT: "turns", "data": turns}

    def _items(self) -> Iterator[Mapping[str, Any]]:
        activity = self._session.activity
        agent = activity.agent if activity is not None else self._agent
        history = self._session.history.items
        own: Sequence[llm.ChatItem] = agent.chat_ctx.items
        looked = (
            agent,
            len(history),
            len(own),
            *(items[-1].id for items in (history, own) if items),
        )
        if looked == self._looked:
            return
        self._looked = looked
        shown = {item.id for item in own if self._keeps(item)}
        if (
            agent.id != self._agent_id
            or not self._shown <= shown
            or (shown & self._known) - self._shown
        ):
            yield {KEPT: "agent", "data": {"agent": agent.id, "shown": sorted(shown)}}
        self._agent_id, self._shown = agent.id, shown
        for item in (*history, *own):
            if item.id not in self._known and self._keeps(item):
                self._known.add(item.id)
                data = {"item": as_json(item), "shown": item.id in shown}
                yield {KEPT: "item", "data": data}

    def _keeps(self, item: llm.ChatItem) -> bool:
        own = item.type == "agent_config_update" or item.id.startswith(INSTRUCTIONS)
        return not own and item.id not in self._given

    def _open_turns(self) -> Mapping[str, Any]:
        conductor, activity = self._session._conductor, self._session.activity
        turns, resumption = conductor.turns, conductor.host.resumption
        waiting = [_turn(info) for info in turns.waiting() if info.new_transcript]
        runs = [asked.work for asked in self._session.deferred if asked.what == "run"]
        waiting += [{"text": run["user_input"], "confidence": 1.0} for run in runs]
        words = activity.uncommitted_words if activity is not None else ""
        return {
            "begun": self._begun,
            "outcomes": dict(turns.outcomes),
            "waiting": waiting if self._words else [],
            "uncommitted": words if self._words else "",
            "words_due": conductor.utterance.due,
            "unsaid": dict(resumption.unsaid) if resumption is not None else {},
        }


def as_json(item: llm.ChatItem) -> dict[str, Any]:
    """An item of a conversation as JSON, without pictures and audio."""
    (made,) = llm.ChatContext([item]).to_dict(exclude_timestamp=False, exclude_metrics=True)[
        "items"
    ]
    return made  # type: ignore[no-any-return]


def _turn(info: Any) -> dict[str, Any]:
    return {"text": info.new_transcript, "confidence": info.transcript_confidence}
