"""What the stores in SQL databases have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from turnfsm.runtime.journal import Redact

from .protocol import Acquired, Batch, Check, SessionTaken

__all__ = ["SqlStore"]

_ACQUIRE = (
    "INSERT INTO turnfsm_session VALUES (%s, 1) "
    "ON CONFLICT (id) DO UPDATE SET epoch = turnfsm_session.epoch + 1 RETURNING epoch"
)

_LATEST = (
    "SELECT body FROM turnfsm_record WHERE session = %s AND epoch = "
    "(SELECT max(epoch) FROM turnfsm_record WHERE session = %s) ORDER BY n"
)

_INSERT = "INSERT INTO turnfsm_record VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"


class SqlStore(ABC):
    """A `Store` with a table of sessions and one of records.

    `sql` changes a statement of PostgreSQL to the dialect of the database.
    """

    def __init__(self, redact: Redact | None, sql: Callable[[str], str] = str) -> None:
        self.redact = redact
        self._sql = sql
        self._open: Any = None

    def acquire(self, session: str, check: Check | None = None) -> Acquired:
        """As `Store.acquire`."""
        with self._transaction(durable=True) as connection:
            [(epoch,)] = connection.execute(self._sql(_ACQUIRE), (session,)).fetchall()
            rows = connection.execute(self._sql(_LATEST), (session, session))
            acquired = Acquired(session, epoch, tuple(body for (body,) in rows))
            if check is not None:
                check(acquired)
        return acquired

    def append(self, batches: Sequence[Batch]) -> Sequence[SessionTaken | None]:
        """As `Store.append`."""
        refused: list[SessionTaken | None] = [None] * len(batches)
        # always in the same order, so that two workers with several sessions cannot deadlock
        ordered = sorted(enumerate(batches), key=lambda numbered: numbered[1].session)
        with self._transaction(durable=any(batch.durable for batch in batches)) as connection:
            cursor, insert = connection.cursor(), self._sql(_INSERT)
            for place, batch in ordered:
                held = self._held(durable=batch.durable)
                if not cursor.execute(held, (batch.session, batch.epoch)).fetchall():
                    refused[place] = SessionTaken(batch.session, batch.epoch)
                elif batch.records:
                    numbered = enumerate(batch.records, batch.first)
                    rows = [(batch.session, batch.epoch, n, body) for n, body in numbered]
                    cursor.executemany(insert, rows)
        return refused

    def delete(self, session: str) -> None:
        """As `Store.delete`."""
        with self._transaction(durable=True) as connection:
            # first the row that a running append holds
            taken = "UPDATE turnfsm_session SET epoch = epoch + 1 WHERE id = %s"
            for statement in (taken, "DELETE FROM turnfsm_record WHERE session = %s"):
                connection.execute(self._sql(statement), (session,))

    @abstractmethod
    def close(self) -> None:
        """As `Store.close`."""

    @abstractmethod
    def _held(self, *, durable: bool) -> str:
        """The statement that finds a session if its epoch is still the newest."""

    @abstractmethod
    def _transaction(self, *, durable: bool) -> AbstractContextManager[Any]:
        """A connection, with a transaction that ends with the block."""

    @abstractmethod
    def _connect(self) -> Any: ...

    @abstractmethod
    def _prepare(self, connection: Any) -> None:
        """Check the version of the tables; make them if they are missing."""

    def _connection(self) -> Any:
        if self._open is None:
            connection = self._connect()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._open = connection
        return self._open
