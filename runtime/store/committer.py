"""The thread that writes for all sessions of a store, with all pending records in one
transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import attrs

from .protocol import Acquired, Batch, Check, Store, StoreError, StoreUnavailable

__all__ = ["Committer", "Unwritten"]


class Unwritten(Protocol):
    """Records to be written."""

    def batch(self) -> Batch:
        """Make the batch. Called in the thread, at each attempt to write."""
        ...


@attrs.define(eq=False)
class _Job:
    work: Unwritten
    done: bool = False
    error: StoreError | None = None


class Committer:
    """Calls a store in its own thread, so that the event loop never waits for it.

    Args:
        store: The store. It must not be called from elsewhere.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="turnfsm-store")
        self._queue: deque[_Job] = deque()

    async def acquire(self, session: str, check: Check | None = None) -> Acquired:
        """As `Store.acquire`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._store.acquire, session, check)

    async def append(self, work: Unwritten) -> None:
        """Write records, together with all pending ones.

        Raises:
            StoreUnavailable: The store does not answer. Try again later.
            SessionTaken: Another worker has the session.
            StoreError: The store cannot be used.
        """
        job = _Job(work)
        self._queue.append(job)
        await asyncio.get_running_loop().run_in_executor(self._pool, self._commit, job)
        if job.error is not None:
            raise job.error

    async def aclose(self) -> None:
        """Close the store and end the thread."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._pool, self._store.close)
        self._pool.shutdown(wait=False)

    def _commit(self, job: _Job) -> None:
        if job.done:
            return  # written with an earlier job
        jobs = [self._queue.popleft() for _ in range(len(self._queue))]
        errors: list[StoreError | None]
        try:
            errors = [*self._store.append([waiting.work.batch() for waiting in jobs])]
        except StoreError as exc:
            errors = [exc] * len(jobs)
        except Exception as exc:  # an error of a user's own store: retried, so nothing is lost
            errors = [StoreUnavailable(f"{type(exc).__name__}: {exc}")] * len(jobs)
        for waiting, error in zip(jobs, errors, strict=True):
            waiting.done, waiting.error = True, error
