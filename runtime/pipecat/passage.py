"""The request of a turn passes the application's processors between the user aggregator and the
model."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from pipecat.frames import frames as f

from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.host.reply import Reply

__all__ = ["Passage", "RequestEnd", "SaidBefore"]


@dataclass
class RequestEnd(f.DataFrame):
    """Follows a request through the processors. If one of them answers the request itself, or holds
    it back, this arrives alone."""

    step: str


@dataclass
class SaidBefore(f.DataFrame):
    """What a processor says before the model is asked, or instead."""

    frame: f.TTSSpeakFrame


class Passage:
    """The request that passes the processors, if any. Each message of the user passes them once:
    Pipecat requests the answer to a tool's result from behind them.

    Args:
        push: Pushes a frame to the first of them.
        requested: The reply that is requested from the model.
    """

    def __init__(
        self,
        push: Callable[[f.Frame], Coroutine[Any, Any, None]],
        requested: Callable[[], Reply | None],
    ) -> None:
        self._push, self._requested = push, requested
        self._asked: WeakSet[Reply] = WeakSet()
        self._step: Step | None = None
        self._passed: str | None = None  # the user's latest message that has passed

    def asked(self, reply: Reply) -> None:
        """The reply was requested from before the processors."""
        self._asked.add(reply)

    async def begins(self, reply: Reply, step: Step, message: str | None) -> bool:
        """The reply has the floor. Returns whether its request passes the processors now.

        Args:
            message: The id of the user's latest message.
        """
        if reply not in self._asked and message in (None, self._passed):
            return False
        self._asked.discard(reply)
        self._step = step
        await self._push(f.LLMContextFrame(reply.of))
        await self._push(RequestEnd(step.id))
        return True

    @property
    def open(self) -> bool:
        """The request passes. What the processors say meanwhile belongs to its step."""
        return self._step is not None and self._step.speech is self._requested()

    def lacks(self, end: RequestEnd) -> bool:
        """Whether the request has not passed before its end."""
        return self.open and self._step is not None and self._step.id == end.step

    def ends(self, message: str | None) -> None:
        """The request has passed, or will not come. The argument is as in `begins`."""
        self._step, self._passed = None, message
