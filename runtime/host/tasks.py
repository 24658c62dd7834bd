"""The background tasks of a host, which end with it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["Tasks"]


class Tasks:
    """A host's own tasks."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine as a task."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def aclose(self) -> None:
        """Cancel the tasks, and wait until they have ended."""
        while self._running:  # a task may start another one while it ends
            for task in tuple(self._running):
                task.cancel()
            await asyncio.wait(self._running)
