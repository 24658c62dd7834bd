"""Reports the items of a realtime model as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Generic, TypeVar

__all__ = ["ItemStream"]

_Item = TypeVar("_Item")


class ItemStream(Generic[_Item]):
    """A stream that passes each item through a function, and skips those that become None.

    Not a generator: cancelling one reader would end it for the others. It ends after all ready
    tasks: once the messages end, LiveKit closes the stream of calls, even if the task that makes
    them has not started.
    """

    def __init__(
        self, stream: AsyncIterable[_Item], convert: Callable[[_Item], _Item | None]
    ) -> None:
        self._items = aiter(stream)
        self._convert = convert

    def __aiter__(self) -> AsyncIterator[_Item]:
        return self

    async def __anext__(self) -> _Item:
        try:
            while (item := self._convert(await anext(self._items))) is None:
                pass
        except StopAsyncIteration:
            await asyncio.sleep(0)
            raise
        return item
