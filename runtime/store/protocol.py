"""What a store must offer, and how it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs

from turnfsm.fsm import TurnfsmError

__all__ = ["SCHEMA", "Acquired", "Batch", "SessionTaken", "Store", "StoreAway", "StoreError"]

SCHEMA = 1
"""The version of the tables that this turnfsm reads and writes."""


class StoreError(TurnfsmError):
    """A store cannot be used; the message says what to do."""


class StoreAway(StoreError):
    """A store does not answer now, or cannot write: it may be asked again later."""


class SessionTaken(StoreError):
    """Another worker has acquired the session since: this one may write nothing more.

    Attributes:
        session: The id of the session.
        epoch: The epoch that this worker holds, and that is no longer the newest.
    """

    def __init__(self, session: str, epoch: int) -> None:
        super().__init__(
            f"session {session!r}: another worker has acquired it, so this one (epoch {epoch}) "
            "closes; if that was not meant, give each conversation a session_id of its own"
        )
        self.session = session
        self.epoch = epoch


@attrs.frozen
class Acquired:
    """A session that this worker now holds.

    Attributes:
        epoch: Counts the workers that have held the session, from 1.
        records: What the worker before has written, in its order; empty for a new session.
    """

    session: str
    epoch: int
    records: tuple[str, ...] = ()


@attrs.frozen
class Batch:
    """Records of one session that are written together, all or none.

    Attributes:
        first: The number of the first record in its epoch, from 1. A batch that is written a
            second time, because nobody knows whether the first time succeeded, changes nothing.
        records: One JSON object each; may be empty, which only asks whether the epoch still holds.
        durable: They must survive a power cut before the answer comes; else a killed process.
    """

    session: str
    epoch: int
    first: int
    records: tuple[str, ...]
    durable: bool = True


class Store(Protocol):
    """Keeps what sessions write, one epoch for each worker that holds a session.

    Every method blocks, and is called by one thread at a time, always the same one.
    """

    def acquire(self, session: str) -> Acquired:
        """Begin the next epoch of a session; batches of older epochs are refused from now on.

        The records are those of the last epoch that has any: each begins with all that the
        session needs, so that none before it is read.

        Raises:
            StoreAway: The store does not answer.
            StoreError: The store cannot be used.
        """

    def append(self, batches: Sequence[Batch]) -> Sequence[SessionTaken | None]:
        """Write batches, of several sessions perhaps, in one transaction.

        Returns:
            For each batch None, or why it was refused; the others are written.

        Raises:
            StoreAway: Nothing was written, or nobody knows; write the same batches again.
            StoreError: The store cannot be used.
        """
        ...

    def forget(self, session: str) -> None:
        """Delete all that a session has written; the next worker begins it anew.

        Raises:
            StoreAway: The store does not answer.
        """

    def close(self) -> None:
        """Let go of the connection; the next call opens another one."""
