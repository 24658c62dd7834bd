"""The tasks of asynchronous effects. Each is owned by a state, a scope or the session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextvars import Context
from typing import Any

__all__ = ["OwnedTasks"]

logger = logging.getLogger("turnfsm")

Ended = Callable[[BaseException | None], None]
"""Called when a task has ended before its owner: with its exception, or None."""


class OwnedTasks:
    """The tasks, which are cancelled when their owner ends.

    Their outcome after that is not reported.
    """

    __slots__ = ("_over", "_owners")

    def __init__(self) -> None:
        self._owners: dict[asyncio.Future[Any], str] = {}
        self._over: set[asyncio.Future[Any]] = set()

    def __len__(self) -> int:
        return len(self._owners)

    def own(
        self,
        awaitable: Awaitable[Any],
        owner: str,
        loop: asyncio.AbstractEventLoop,
        context: Context,
        ended: Ended,
    ) -> None:
        """Run a coroutine as a task that is cancelled when its owner ends."""
        task = context.run(asyncio.ensure_future, awaitable, loop=loop)
        self._owners[task] = owner
        task.add_done_callback(lambda done: self._ended(done, ended))

    def end(self, owners: Collection[str]) -> None:
        """Cancel the tasks of these owners."""
        self._cancel([task for task, owner in self._owners.items() if owner in owners])

    def end_all(self) -> None:
        """Cancel every task."""
        self._cancel(list(self._owners))

    async def wait(self, max_wait: float) -> None:
        """Wait until the cancelled tasks have ended, at most this many seconds."""
        pending = self._over - {asyncio.current_task()}
        if pending:
            _, pending = await asyncio.wait(pending, timeout=max_wait)
        for task in pending:
            logger.error("a task did not end within %g s of its cancellation: %r", max_wait, task)

    def _cancel(self, tasks: list[asyncio.Future[Any]]) -> None:
        for task in tasks:
            # Removed from the owners first, so that its end is not reported.
            del self._owners[task]
            self._over.add(task)
            task.cancel()

    def _ended(self, task: asyncio.Future[Any], ended: Ended) -> None:
        exc = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self._owners.pop(task, None) is not None:
            ended(exc)
            return
        self._over.discard(task)
        if exc is not None and not isinstance(exc, asyncio.CancelledError):
            logger.error("a task raised while it was cancelled: %r", task, exc_info=exc)
