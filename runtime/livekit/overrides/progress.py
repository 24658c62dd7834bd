"""Counts what a step produces on its way through LiveKit: tokens and audio."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

from livekit import rtc
from livekit.agents import Agent, llm
from livekit.agents.voice.io import AudioOutput

__all__ = ["count_audio", "count_tokens"]


def count_audio(
    output: AudioOutput, came: Callable[[float], Awaitable[None]]
) -> Callable[[], None]:
    """Report the seconds of each frame before an output gets it, which may wait. Returns a function
    that stops it."""
    capture = output.capture_frame

    async def capture_frame(frame: rtc.AudioFrame) -> None:
        await came(frame.duration)
        await capture(frame)

    def stop() -> None:
        if output.__dict__.get("capture_frame") is capture_frame:
            del output.__dict__["capture_frame"]

    output.capture_frame = capture_frame  # type: ignore[method-assign]
    return stop


def count_tokens(
    agent: Agent,
    begins: Callable[[llm.ChatContext], None],
    came: Callable[[bool], None],
    ended: Callable[[bool], None],
) -> None:
    """Report when the agent's `llm_node` begins, whenever it produces something (True: it is the
    first text), and whether it has made calls when it has ended."""
    node = agent.llm_node
    if isinstance(node, _CountedNode):
        node = node.node  # the agent was in another activity before
    counted = _CountedNode(node, begins, came, ended)
    agent.llm_node = counted  # type: ignore[assignment,method-assign]


class _CountedNode:
    def __init__(
        self,
        node: Callable[..., Any],
        begins: Callable[[llm.ChatContext], None],
        came: Callable[[bool], None],
        ended: Callable[[bool], None],
    ) -> None:
        self.node, self._begins, self._came, self._ended = node, begins, came, ended

    def __call__(self, *request: Any) -> Any:
        if request and isinstance(request[0], llm.ChatContext):
            self._begins(request[0])
        made = self.node(*request)
        return self._awaited(made) if inspect.iscoroutine(made) else self._counted(made)

    async def _awaited(self, made: Any) -> Any:
        return self._counted(await made)

    def _counted(self, made: Any) -> Any:
        if isinstance(made, AsyncIterable):
            return _Counted(made, self._came, self._ended)
        self._ended(_calls(made))
        return made


class _Counted:
    """A stream that reports each item and its end."""

    def __init__(
        self,
        items: AsyncIterable[Any],
        came: Callable[[bool], None],
        ended: Callable[[bool], None],
    ) -> None:
        self._source, self._items = items, aiter(items)
        self._came, self._ended, self._called, self._spoke = came, ended, False, False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await anext(self._items)
        except StopAsyncIteration:
            self._ended(self._called)
            raise
        self._called |= _calls(item)
        first_text = not self._spoke and _text(item)
        self._spoke |= first_text
        self._came(first_text)
        return item

    async def aclose(self) -> None:
        """End the stream, if it can be ended."""
        if (close := getattr(self._source, "aclose", None)) is not None:
            await close()


def _text(item: Any) -> bool:
    if isinstance(item, llm.ChatChunk):
        return item.delta is not None and bool(item.delta.content)
    return isinstance(item, str) and bool(item)


def _calls(item: Any) -> bool:
    return (
        isinstance(item, llm.ChatChunk) and item.delta is not None and bool(item.delta.tool_calls)
    )
