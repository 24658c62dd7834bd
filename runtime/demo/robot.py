"""The agent of the demo: a robot in a store, with two slow tools."""

from livekit.agents import Agent, ToolError, function_tool

from .pace import Pace

__all__ = ["Robot"]

_STEP = 0.3  # seconds of conversation for each metre, and for each shelf
_SHELVES = {
    3: "two seven one one eight",
    9: "nine one six one three",
    24: "two nine three four zero",
}


class Robot(Agent):
    """An agent that drives and finds parcels. Its position changes while a tool runs.

    Args:
        pace: The clock of the conversation.

    Example:
        >>> from turnfsm.demo import Pace, Robot
        >>> [tool.info.name for tool in Robot(Pace()).tools]
        ['drive', 'find_parcel']
    """

    def __init__(self, pace: Pace) -> None:
        super().__init__(
            instructions="You are a robot in a store. You drive, and you find parcels."
        )
        self._pace = pace
        self.position = 0  # metres from the dock

    @function_tool
    async def drive(self, meters: int) -> str:
        """Drive straight ahead, or back.

        Args:
            meters: How far; below zero means back.
        """
        step = 1 if meters > 0 else -1
        for _ in range(abs(meters)):
            await self._pace.sleep(_STEP)
            self.position += step
        return "I am back at the dock." if self.position == 0 else "I have reached the place."

    @function_tool
    async def find_parcel(self, number: str) -> str:
        """Look at every shelf until the parcel is found.

        Args:
            number: The parcel's number, digit by digit.
        """
        for shelf in range(1, max(_SHELVES) + 1):
            await self._pace.sleep(_STEP)
            if _SHELVES.get(shelf) == number:
                return "There it is: on the top shelf, and it is very light."
        raise ToolError(f"There is no parcel {number}.")
