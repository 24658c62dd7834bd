"""Streams that report what passes through LiveKit: tokens, audio, a realtime model's items."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from livekit.agents import llm

__all__ = ["CountedNode", "CountedStream", "ItemStream"]

_Item = TypeVar("_Item")


class CountedStream:
    """A stream that reports each item before its reader gets it, and its end.

    Args:
        source: The stream. It is closed with this one.
        on_item: Called with each item. If it returns an awaitable, the reader gets the item
            afterwards.
        ended: Called when the stream has ended by itself.
    """

    def __init__(
        self,
        source: AsyncIterable[Any],
        on_item: Callable[[Any], Awaitable[None] | None],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._source, self._items = source, aiter(source)
        self._on_item, self._ended = on_item, ended

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await anext(self._items)
        except StopAsyncIteration:
            self._ended()
            raise
        if (wait := self._on_item(item)) is not None:
            await wait
        return item

    async def aclose(self) -> None:
        """End the stream, if it can be ended."""
        if (close := getattr(self._source, "aclose", None)) is not None:
            await close()


class CountedNode:
    """An agent's `llm_node` that reports what it produces.

    Args:
        node: The node.
        begins: Called with the context of the request. If it returns False, the node is not called.
        produced: Called whenever the node produces something; True: it is the first text.
        responds: Called with each text or call.
        ended: Called at its end, with the number of tool calls; True: there was text.
    """

    def __init__(
        self,
        node: Callable[..., Any],
        begins: Callable[[llm.ChatContext], bool],
        produced: Callable[[bool], None],
        responds: Callable[[], None],
        ended: Callable[[int, bool], None],
    ) -> None:
        self._node, self._begins, self._produced, self._ended = node, begins, produced, ended
        self._responds = responds
        self._called, self._spoke = 0, False

    def __call__(self, chat_ctx: llm.ChatContext, *request: Any) -> Any:
        if not self._begins(chat_ctx):
            return None
        result = self._node(chat_ctx, *request)
        return self._awaited(result) if inspect.iscoroutine(result) else self._counted(result)

    async def _awaited(self, result: Any) -> Any:
        return self._counted(await result)

    def _counted(self, result: Any) -> Any:
        if isinstance(result, AsyncIterable):
            return CountedStream(
                result, self._count, lambda: self._ended(self._called, self._spoke)
            )
        self._ended(_calls(result), _text(result))
        return result

    def _count(self, item: Any) -> None:
        text, calls = _text(item), _calls(item)
        first_text = not self._spoke and text
        self._spoke |= text
        self._called += calls
        self._produced(first_text)
        if text or calls:
            self._responds()


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


def _text(item: Any) -> bool:
    if isinstance(item, llm.ChatChunk):
        return item.delta is not None and bool(item.delta.content)
    return isinstance(item, str) and bool(item)


def _calls(item: Any) -> int:
    if isinstance(item, llm.ChatChunk) and item.delta is not None:
        return len(item.delta.tool_calls)
    return 0
