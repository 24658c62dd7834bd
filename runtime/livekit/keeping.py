"""A session that is kept in a store: what is written, when a tool waits for it, who may write."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

from livekit.agents import Agent, llm

from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.journal import LiveJournal, Redactor
from turnfsm.runtime.store.address import open_store
from turnfsm.runtime.store.committer import Committer
from turnfsm.runtime.store.keeper import Keeper
from turnfsm.runtime.store.past import KEPT, Past, read_past
from turnfsm.runtime.store.protocol import SessionTaken, Store, StoreAway, StoreError

__all__ = ["Keeping", "KeptSession"]

logger = logging.getLogger("turnfsm")

START_LIMIT = 5.0
"""Seconds that a session which starts waits for a store that does not answer."""

EFFECT_LIMIT = 10.0
"""Seconds that a tool waits, before it begins, for a store that does not answer."""

REPLY_LIMIT = 1.0
"""Seconds that a reply waits."""

CLOSE_LIMIT = 2.0
"""Seconds that a session which closes waits."""

NOT_RECORDED = (
    "this was not done: it could not be recorded, and would be done twice after an interruption of "
    "the connection; tell the user, and do not try again at once"
)

INSTRUCTIONS = "lk.agent_task.instructions"
"""The ids of an agent's instructions begin so; the next agent has its own."""

_in_use: WeakValueDictionary[tuple[str, str], Keeping] = WeakValueDictionary()
"""The sessions of this process, by store and id."""


class KeptSession(Protocol):
    """What is written of a session."""

    _conductor: Conductor

    @property
    def history(self) -> llm.ChatContext: ...
    @property
    def activity(self) -> Any: ...
    def taken(self, error: SessionTaken) -> None:
        """Another worker has the session."""


class Keeping:
    """Keeps one session in a store while it runs.

    Args:
        store: A store, or its address.
        session_id: The name under which another worker finds the session.

    Raises:
        TurnfsmError: An argument is missing or of the wrong kind.
    """

    def __init__(
        self, session: KeptSession, store: Store | str | Path, session_id: str | None
    ) -> None:
        if not isinstance(session_id, str) or not session_id:
            raise TurnfsmError(
                f"session_id is {session_id!r}; with store= give the name under which another "
                "worker finds this conversation, such as session_id=ctx.job.room.name"
            )
        self.session_id = session_id
        self._session = session
        self._own = not isinstance(store, str | Path)
        self._store = open_store(store)
        self._redact = Redactor(getattr(self._store, "redact", None))
        self._committer: Committer | None = None
        self._keeper: Keeper | None = None
        self._agent: Agent | None = None
        self._given: frozenset[str] = frozenset()
        self._begun = False
        self._forget()

    @property
    def epoch(self) -> int:
        """How many workers have held the session, with this one; 0 before it starts."""
        return self._keeper.epoch if self._keeper is not None else 0

    @property
    def acquired(self) -> bool:
        """The session is this worker's, as far as it knows."""
        return self._keeper is not None

    # -- the life of a session

    async def acquire(self, flow: str) -> Past | None:
        """Take the session over; what its last worker has left, None for a new session.

        Raises:
            StoreError: The store cannot be used, or the session not be gone on with.
        """
        key = repr(self._store), self.session_id
        other = _in_use.get(key)
        if other is not None and other is not self and other.acquired:
            raise StoreError(
                f"session {self.session_id!r} runs in this process already; close that one first, "
                "or give another session_id"
            )
        _in_use[key] = self
        self._committer = Committer(self._store)
        self._keeper = Keeper(self._committer, self.session_id, self._redact, self._failed)
        try:
            acquired = await self._keeper.acquire(START_LIMIT)
            past = read_past(acquired, flow)
        except BaseException:
            await self._let_go()
            raise
        self._begun = past is not None and past.begun
        return past

    def begin(self, journal: LiveJournal, agent: Agent, given: Collection[str]) -> None:
        """Write from now on; what is there already is written first, all at once.

        Args:
            agent: The one that is about to take charge.
            given: The ids of what it had in its conversation before it was restored: the
                application gives that to the next worker's agent, too.
        """
        assert self._keeper is not None
        self._agent, self._given = agent, frozenset(given)
        header = self._redact(journal.header().to_json())
        self._keeper.begin(journal, [header], lambda: list(self._gather()))

    async def aclose(self) -> None:
        """The session has closed."""
        if self._keeper is not None:
            await self._keeper.aclose(CLOSE_LIMIT)
            await self._let_go()

    # -- what waits for the store

    def call_ended(self) -> None:
        """A tool call has ended; what it gave must be kept before anybody knows of it."""
        self._unkept_end = True

    async def before_effect(self) -> str | None:
        """Keep all that has happened, before a tool has its effect."""
        if self._keeper is None:
            return None
        try:
            await self._keeper.durable(EFFECT_LIMIT)
        except StoreError as exc:
            logger.error("session %r: a tool does not begin: %s", self.session_id, exc)
            return NOT_RECORDED
        return None

    def key_of(self, call: str, turn: str) -> str:
        """What names this call and no other, in all sessions."""
        return f"{self.session_id}/{turn}/{call}"

    async def before_reply(self) -> None:
        """Keep the ends of calls, before the model and the user know of them; not for long: the
        start of every call is kept, so that none is made twice, whatever the store does."""
        if self._keeper is None or not self._unkept_end:
            return
        try:
            self._unkept_end = False
            await self._keeper.durable(REPLY_LIMIT)
        except StoreAway:
            pass  # the keeper has logged it
        except StoreError:
            pass  # the session closes, or was told

    # -- inside

    async def _let_go(self) -> None:
        committer, self._committer, self._keeper = self._committer, None, None
        self._forget()
        if committer is not None:
            await committer.aclose()

    def _forget(self) -> None:
        self._unkept_end = False
        self._known: set[str] = set()
        self._shown: set[str] = set()
        self._looked: tuple[object, ...] = ()
        self._turns: Mapping[str, Any] = {}
        self._agent_id: str | None = None

    def _failed(self, error: StoreError) -> None:
        if isinstance(error, SessionTaken):
            logger.warning("%s", error)
            self._session.taken(error)
        else:
            logger.error("session %r is kept no longer: %s", self.session_id, error)

    def _gather(self) -> Iterator[Mapping[str, Any]]:
        """What has changed since it was asked for the last time."""
        if self._redact.how is None:
            yield from self._items()
        turns = self._open_turns()
        if turns != self._turns:
            self._turns = turns
            yield {KEPT: "turns", "data": turns}

    def _items(self) -> Iterator[Mapping[str, Any]]:
        activity = self._session.activity
        agent = activity.agent if activity is not None else self._agent
        history = self._session.history.items
        own: Sequence[llm.ChatItem] = agent.chat_ctx.items if agent is not None else ()
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
        agent_id = agent.id if agent is not None else None
        if (
            agent_id != self._agent_id
            or not self._shown <= shown
            or (shown & self._known) - self._shown
        ):
            yield {KEPT: "agent", "data": {"agent": agent_id, "shown": sorted(shown)}}
        self._agent_id, self._shown = agent_id, shown
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
        in_history = (i for i in reversed(self._session.history.items) if i.type == "message")
        said = {item.id for item in in_history if item.role == "user"} if turns.unsaid else ()
        words = activity.uncommitted_words if activity is not None else ""
        kept = self._redact.how is None
        return {
            "begun": self._begun,
            "outcomes": dict(turns.outcomes),
            "waiting": [_turn(i) for i in turns.waiting(said) if i.new_transcript] if kept else [],
            "uncommitted": words if kept else "",
            "words_due": conductor.words_due,
            "owed": dict(resumption.owed) if resumption is not None else {},
        }


def as_json(item: llm.ChatItem) -> dict[str, Any]:
    """An item of a conversation, without pictures and audio."""
    (made,) = llm.ChatContext([item]).to_dict(exclude_timestamp=False, exclude_metrics=True)[
        "items"
    ]
    return made  # type: ignore[no-any-return]


def _turn(info: Any) -> dict[str, Any]:
    return {"text": info.new_transcript, "confidence": info.transcript_confidence}
