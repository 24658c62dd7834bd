"""Publishes the state of the flow in the room, as an attribute of the agent's participant."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from turnfsm.runtime.journal import Raw

__all__ = ["ATTRIBUTE", "RoomState"]

logger = logging.getLogger("turnfsm")

ATTRIBUTE = "turnfsm.state"

EVERY = 0.2
"""Seconds between two updates. Shorter states may be skipped."""


class RoomState:
    """Publishes the current state, at most every 0.2 s, and always the last one.

    `publish` sets an attribute of the local participant; its errors are logged.
    """

    def __init__(self, publish: Callable[[str, str], Awaitable[None]]) -> None:
        self._publish = publish
        self._published = self._held = ""
        self._task: asyncio.Task[None] | None = None

    def __call__(self, raw: Raw) -> None:
        """Take one record."""
        verdict = raw[6]
        if verdict is not None and verdict.dest != self._held:
            self._held = verdict.dest
            if self._task is None or self._task.done():
                self._task = asyncio.ensure_future(self._publish_all())

    def end(self) -> None:
        """The session has closed."""
        if self._task is not None:
            self._task.cancel()

    async def _publish_all(self) -> None:
        while self._published != self._held:
            self._published = self._held
            try:
                await self._publish(ATTRIBUTE, self._published)
            except Exception as exc:  # a lost room must not end the conversation
                logger.warning(
                    "the state %r could not be published in the room: %s", self._published, exc
                )
            await asyncio.sleep(EVERY)
