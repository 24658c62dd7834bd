"""Conversation time: the event loop's clock, a number of times faster."""

import asyncio

from turnfsm.fsm import Flow

__all__ = ["Pace"]


class Pace:
    """The clock that microphone, audio output, tools and script share.

    Seconds of the conversation start at 0 with the first use. They pass `speed` times faster than
    those of the event loop.

    Args:
        speed: How much faster; 1 is real time.

    Example:
        >>> from turnfsm.demo import Pace
        >>> Pace(speed=4.0).wall(2.0)
        0.5
    """

    def __init__(self, speed: float = 1.0) -> None:
        if not speed > 0:
            raise ValueError(f"speed must be above 0, not {speed}")
        self.speed = speed
        self._origin: float | None = None

    def now(self) -> float:
        """Seconds of conversation since the first use."""
        clock = asyncio.get_running_loop().time()
        if self._origin is None:
            self._origin = clock
        return (clock - self._origin) * self.speed

    def wall(self, seconds: float) -> float:
        """How long so many seconds of conversation last on the event loop's clock."""
        return seconds / self.speed

    def timers(self, flow: Flow) -> dict[str, float]:
        """The seconds of the flow's timers on the event loop's clock."""
        return {name: self.wall(seconds) for name, seconds in flow.timers.items()}

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds of conversation."""
        await asyncio.sleep(self.wall(seconds))
