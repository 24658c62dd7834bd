"""What a store must implement, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import attrs

from turnfsm.fsm import TurnfsmError

__all__ = [
    "SCHEMA",
    "Acquired",
    "Batch",
    "Check",
    "SessionTaken",
    "Store",
    "StoreError",
    "StoreUnavailable",
]

SCHEMA = 1
"""The version of the tables that this turnfsm reads and writes."""


class StoreError(TurnfsmError):
    """The store cannot be used. The message says what to do."""


class StoreUnavailable(StoreError):
    """The store does not answer now, or cannot write. Try again later."""


class SessionTaken(StoreError):
    """Another worker has acquired the session, so this one may not write any more.

    Args:
        session: The id of the session.
        epoch: The epoch of this worker, which is no longer the newest.
    """

    def __init__(self, session: str, epoch: int) -> None:
        super().__init__(
            f"session {session!r}: another worker has acquired it, so this one (epoch {epoch}) "
            "closes; if that was not intended, give each conversation its own session_id"
        )
        self.session = session
        self.epoch = epoch


@attrs.frozen
class Acquired:
    """A session that this worker now holds.

    Attributes:
        session: The id of the session.
        epoch: The number of the worker that holds the session, from 1.
        records: The records of the previous worker, in order; empty for a new session.
    """

    session: str
    epoch: int
    records: tuple[str, ...] = ()


Check = Callable[[Acquired], object]
"""Raises an error if a session cannot be continued."""


@attrs.frozen
class Batch:
    """Records of one session that are written atomically.

    Attributes:
        session: The id of the session.
        epoch: The epoch of the worker that writes.
        first: The number of the first record in its epoch, from 1. Writing a batch is idempotent: a
            worker may repeat it if it does not know whether it was written.
        records: One JSON object each. If empty, the store only checks that the epoch is still the
            newest.
        durable: True: they survive a power cut once `append` has returned. False: they survive a
            killed process.
    """

    session: str
    epoch: int
    first: int
    records: tuple[str, ...]
    durable: bool = True


class Store(Protocol):
    """Stores the records of sessions, with one epoch for each worker that has held a session.

    Every method blocks. All of them are called in the same thread.

    Example:
        >>> from turnfsm.store import SqliteStore, Store
        >>> store: Store = SqliteStore("calls.db")
        >>> store.acquire("room-1").epoch
        1
        >>> store.close()
    """

    def acquire(self, session: str, check: Check | None = None) -> Acquired:
        """Begin the next epoch of a session. From now on batches of older epochs are refused.

        The returned records are those of the last epoch that has any. Each epoch begins with
        everything that the session needs, so older ones are not read.

        Args:
            session: The id of the session.
            check: Called in the same transaction with what will be returned. If it raises an
                error, the epoch does not begin, and the worker that has the session keeps it.

        Raises:
            StoreUnavailable: The store does not answer.
            StoreError: The store cannot be used, or `check` has raised it.
        """

    def append(self, batches: Sequence[Batch]) -> Sequence[SessionTaken | None]:
        """Write batches, perhaps of several sessions, in one transaction.

        Returns:
            For each batch None, or the reason of its refusal. The others are written.

        Raises:
            StoreUnavailable: Nothing was written, or that is unknown. Write the same batches again.
            StoreError: The store cannot be used.
        """
        ...

    def delete(self, session: str) -> None:
        """Delete all records of a session. The next worker begins a new session.

        Raises:
            StoreUnavailable: The store does not answer.
        """

    def close(self) -> None:
        """Close the connection. The next call opens another one."""
