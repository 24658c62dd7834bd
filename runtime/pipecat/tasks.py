"""The background tasks of an agent, which end with its pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["Tasks"]


class Tasks:
    """An agent's own tasks, since an interruption may end Pipecat's."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def aclose(self) -> None:
        """The pipeline has ended: cancel the tasks."""
        for task in tuple(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
