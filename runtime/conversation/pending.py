"""Retries pending work after each change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Pending"]


class Pending:
    """The work of a session that waits until the flow accepts it.

    Args:
        waits: Returns whether work is pending.
        offer: Offers it to the flow.
    """

    def __init__(self, waits: Callable[[], bool], offer: Callable[[], None]) -> None:
        self._waits, self._offer = waits, offer
        self._waiting: list[asyncio.Event] = []
        self._due = False

    def moved(self) -> None:
        """Something has changed."""
        for waiter in self._waiting:
            waiter.set()
        self.offer_soon()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds. It is checked after every change."""
        moved = asyncio.Event()
        self._waiting.append(moved)
        try:
            while not holds():
                moved.clear()
                await moved.wait()
        finally:
            self._waiting.remove(moved)

    def offer_soon(self) -> None:
        """Offer the work in the next iteration of the event loop: the floor may be about to be
        returned."""
        if not self._due and self._waits():
            self._due = True
            asyncio.get_running_loop().call_soon(self._offer_now)

    def _offer_now(self) -> None:
        # set until the end: a trigger posted here must not schedule another attempt
        try:
            self._offer()
        finally:
            self._due = False
