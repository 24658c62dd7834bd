"""A voice agent that books tables, as one would write it for `AgentSession`."""

from __future__ import annotations

from livekit.agents import Agent, RunContext, function_tool

__all__ = ["Waiter"]


class Waiter(Agent):
    """Books a table once the guest has heard what will be booked."""

    def __init__(self) -> None:
        super().__init__(instructions="You take bookings for a restaurant.")
        self.bookings: list[str] = []

    @function_tool
    async def book_table(self, context: RunContext, time: str) -> str:
        """Book a table.

        Args:
            time: when the guests come
        """
        await context.wait_for_playout()  # with TurnSession: raises if the guest objects
        self.bookings.append(time)
        return f"booked for {time}"
