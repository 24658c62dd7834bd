"""Reports the items of a realtime model as they arrive."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Generic, TypeVar

__all__ = ["ItemStream"]

_Item = TypeVar("_Item")


class ItemStream(Generic[_Item]):
    """A stream that calls a function with each item.

    Not a generator: cancelling one reader would end it for the others.
    """

    def __init__(self, stream: AsyncIterable[_Item], comes: Callable[[_Item], _Item]) -> None:
        self._items = aiter(stream)
        self._comes = comes

    def __aiter__(self) -> AsyncIterator[_Item]:
        return self

    async def __anext__(self) -> _Item:
        return self._comes(await anext(self._items))
