"""Stores a session while it runs: which actions wait for the store, and which worker may write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from turnfsm.fsm import Flow, TurnfsmError
from turnfsm.fsm.journal import Journal
from turnfsm.fsm.migrate import StoredFlow
from turnfsm.runtime.journal import LiveJournal, Redactor
from turnfsm.runtime.log import rules_of

from .address import open_store
from .keeper import Keeper
from .past import KEPT, Past, read_past
from .protocol import Acquired, SessionTaken, Store, StoreError

__all__ = ["Keeping"]

logger = logging.getLogger("turnfsm")

START_LIMIT = 5.0
"""How long, in seconds, the start of a session waits for a store that does not answer."""

EFFECT_LIMIT = 10.0
"""How long a tool call waits."""

REPLY_LIMIT = 1.0
"""How long a reply waits."""

CLOSE_LIMIT = 2.0
"""How long the close of a session waits."""

NOT_RECORDED = "this was not done: it could not be recorded"

_in_use: WeakValueDictionary[tuple[str, str], Keeping] = WeakValueDictionary()
"""The sessions of this process, by store and id."""


class Keeping:
    """Stores one session while it runs.

    Args:
        store: A store, or its address.
        session_id: The name under which another worker finds the session.
        taken: Called when another worker has taken over the session.

    Raises:
        TurnfsmError: An argument is missing or of the wrong kind.
    """

    def __init__(
        self,
        store: Store | str | Path,
        session_id: str | None,
        taken: Callable[[SessionTaken], None],
    ) -> None:
        if not isinstance(session_id, str) or not session_id:
            raise TurnfsmError(
                f"session_id is {session_id!r}; with store= give the name under which another "
                "worker finds this conversation, such as the name of the room"
            )
        self.session_id = session_id
        self._taken = taken
        self._store = open_store(store)
        self._redact = Redactor(getattr(self._store, "redact", None))
        self._keeper: Keeper | None = None
        self._unstored_end = False
        self._past: Past | None = None

    @property
    def epoch(self) -> int:
        """How many workers have had the session, including this one; 0 before it starts."""
        return self._keeper.epoch if self._keeper is not None else 0

    @property
    def acquired(self) -> bool:
        """This worker has the session, as far as it knows."""
        return self._keeper is not None

    @property
    def stores_text(self) -> bool:
        """The store may contain text of the conversation."""
        return self._redact.how is None

    # -- the life of a session

    async def acquire(self, flow: Flow, calls: Callable[[Journal], object]) -> Past | None:
        """Take over the session, which continues with this flow. Only the first call has an effect.

        `calls` reads the tool calls of a journal.

        Returns:
            The previous worker's conversation; None for a new session.

        Raises:
            StoreError: The store cannot be used, or the session cannot be continued. Then the
                worker that has the session keeps it.
        """
        if self.acquired:
            return self._past
        key = repr(self._store), self.session_id
        other = _in_use.get(key)
        if other is not None and other is not self and other.acquired:
            raise StoreError(
                f"session {self.session_id!r} runs in this process already; close that one first, "
                "or give another session_id"
            )
        _in_use[key] = self
        self._flow = StoredFlow.of(flow, rules_of(flow))
        self._keeper = Keeper(self._store, self.session_id, self._redact, self._failed)

        def read(acquired: Acquired) -> None:
            self._past = read_past(acquired, flow, calls)

        try:
            await self._keeper.acquire(START_LIMIT, read)
        except BaseException:
            await self.aclose()
            raise
        return self._past

    def begin(
        self, journal: LiveJournal, gather: Callable[[], Iterable[Mapping[str, Any]]]
    ) -> None:
        """Write the whole journal from now on, and what `gather` returns before each write.

        The existing records are written first, in one batch.
        """
        assert self._keeper is not None
        header = self._redact(journal.header().to_json())
        flow = {KEPT: "flow", "data": self._flow.to_json()}
        self._keeper.begin(journal, [header, flow], gather)

    async def aclose(self) -> None:
        """The session has closed."""
        if self._keeper is not None:
            try:
                await self._keeper.aclose(CLOSE_LIMIT)
            finally:
                self._keeper, self._unstored_end = None, False

    def transcript_received(self) -> None:
        """Store a transcript that does not belong to a turn yet."""
        if self._keeper is not None:
            self._keeper.look()

    # -- what waits for the store

    def call_ended(self) -> None:
        """A tool call has ended. Its result must be stored before it is used."""
        self._unstored_end = True

    async def before_effect(self) -> str | None:
        """Store everything so far, before a tool carries out its side effect."""
        if self._keeper is None:
            return None
        try:
            await self._keeper.durable(EFFECT_LIMIT)
        except StoreError as exc:
            logger.error("session %r: a tool call is refused: %s", self.session_id, exc)
            return NOT_RECORDED
        return None

    def key_of(self, call: str, turn: str) -> str:
        """A key for a call that is unique over all sessions."""
        return f"{self.session_id}/{turn}/{call}"

    async def before_reply(self) -> None:
        """Store the ends of calls before the model and the user learn of them. Waits only briefly.

        The start of every call is stored in any case, so no call is made twice, even if the store
        fails.
        """
        if self._keeper is None or not self._unstored_end:
            return
        try:
            self._unstored_end = False
            await self._keeper.durable(REPLY_LIMIT)
        except StoreError:
            pass  # the keeper has logged it, or the session is closing

    # -- inside

    def _failed(self, error: StoreError) -> None:
        if isinstance(error, SessionTaken):
            logger.warning("%s", error)
            self._taken(error)
        else:
            logger.error("session %r is no longer stored: %s", self.session_id, error)
