"""Keeps what the application queues in its order, also behind what a governor holds back."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipecat.frames.frames import ControlFrame, Frame

from .asking import Asking

__all__ = ["Arrival", "Held", "Line"]

logger = logging.getLogger("turnfsm")

LONGEST = 30.0
"""Seconds for which a frame waits at most while the agent does not speak."""

OVERTAKES = "%s has waited for %g s for what was queued before it, and goes on"


class Held(Protocol):
    """What is held back, such as a reply: until the task has ended, or it was interrupted."""

    @property
    def task(self) -> asyncio.Future[None] | None:
        """Ends when it was pushed."""

    @property
    def interrupted(self) -> bool:
        """It was interrupted."""


@dataclass
class Arrival(ControlFrame):
    """Follows a text to the gate behind the model, and arrives when the text has been pushed.

    Attributes:
        task: Ends when it arrives.
    """

    task: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    interrupted: bool = False
    interruptible: bool = field(default=False, init=False)


class Line:
    """The frames that wait at a gate, each behind the requests and texts that came before it.

    A frame goes on when these have been pushed: from then on Pipecat keeps the order. If one of
    them was interrupted before that, the frame is dropped unless it is uninterruptible, as Pipecat
    drops what is queued at an interruption.

    Args:
        go_on: Passes a frame on from the gate.
        held: Returns what the gate holds back.
    """

    def __init__(
        self,
        agent: Asking,
        go_on: Callable[[Frame], Awaitable[None]],
        held: Callable[[], Sequence[Held]],
    ) -> None:
        self._agent, self._go_on, self._held = agent, go_on, held
        self._frames: deque[tuple[Frame, Sequence[Held]]] = deque()

    def takes(self, frame: Frame, before: Sequence[Held]) -> bool:
        """Whether a frame waits, because of what came before it or other frames that wait."""
        if not (before or self._frames):
            return False
        self._frames.append((frame, before))
        if len(self._frames) == 1:
            self._agent.tasks.start(self._advance())
        return True

    async def _advance(self) -> None:
        while self._frames:
            frame, before = self._frames[0]
            for held in (*before, *self._held()):  # a frame in the line may have been a request
                await self._pushed(held, frame)
            if not (frame.interruptible and any(held.interrupted for held in before)):
                await self._go_on(frame)
            self._frames.popleft()

    async def _pushed(self, held: Held, frame: Frame) -> None:
        while held.task is not None and not held.task.done():
            done, _ = await asyncio.wait([held.task], timeout=LONGEST)
            if not done and self._agent.agent_state != "speaking":
                logger.warning(OVERTAKES, frame.name, LONGEST)
                return
