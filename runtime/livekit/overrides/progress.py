"""Counts what a step produces on its way through LiveKit: tokens and audio."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any

from livekit import rtc
from livekit.agents import Agent
from livekit.agents.voice.io import AudioOutput

__all__ = ["count_audio", "count_tokens"]


def count_audio(output: AudioOutput, came: Callable[[float], None]) -> Callable[[], None]:
    """Report the seconds of each frame that an output gets. Returns a function that stops it."""
    capture = output.capture_frame

    async def capture_frame(frame: rtc.AudioFrame) -> None:
        came(frame.duration)
        await capture(frame)

    def stop() -> None:
        if output.__dict__.get("capture_frame") is capture_frame:
            del output.__dict__["capture_frame"]

    output.capture_frame = capture_frame  # type: ignore[method-assign]
    return stop


def count_tokens(agent: Agent, came: Callable[[], None]) -> None:
    """Report whenever the agent's `llm_node` produces something."""
    node = agent.llm_node
    if isinstance(node, _CountedNode):
        node = node.node  # the agent was in another activity before
    agent.llm_node = _CountedNode(node, came)  # type: ignore[assignment,method-assign]


class _CountedNode:
    def __init__(self, node: Callable[..., Any], came: Callable[[], None]) -> None:
        self.node, self._came = node, came

    def __call__(self, *request: Any) -> Any:
        made = self.node(*request)
        return self._awaited(made) if inspect.iscoroutine(made) else self._counted(made)

    async def _awaited(self, made: Any) -> Any:
        return self._counted(await made)

    def _counted(self, made: Any) -> Any:
        return _Counted(made, self._came) if isinstance(made, AsyncIterable) else made


class _Counted:
    """A stream that reports each item."""

    def __init__(self, items: AsyncIterable[Any], came: Callable[[], None]) -> None:
        self._source, self._items, self._came = items, aiter(items), came

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        item = await anext(self._items)
        self._came()
        return item

    async def aclose(self) -> None:
        """End the stream, if it can be ended."""
        if (close := getattr(self._source, "aclose", None)) is not None:
            await close()
