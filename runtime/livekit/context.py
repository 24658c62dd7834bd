"""The context of a running tool, in a governed session and in an observed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livekit.agents.voice.agent_session import Userdata_T
from livekit.agents.voice.events import RunContext

if TYPE_CHECKING:
    from .session import TurnSession

__all__ = ["TurnContext"]


class TurnContext(RunContext[Userdata_T]):
    """The `RunContext` of a tool in a `TurnSession`. Annotate the parameter with either class.

    In an observed session (``observe=True``) `commit_point` does nothing, and the rest does what it
    does in a `RunContext`.

    Example:
        >>> from livekit.agents import function_tool
        >>> from turnfsm.livekit import TurnContext
        >>> @function_tool
        ... async def book_table(ctx: TurnContext, time: str) -> str:
        ...     '''Book a table.'''
        ...     await ctx.commit_point()  # raises if the user has objected
        ...     return f"booked for {time}"
    """

    if TYPE_CHECKING:

        @property
        def session(self) -> TurnSession[Userdata_T]: ...

    async def wait_for_playout(self) -> None:
        """As `RunContext.wait_for_playout`.

        Raises:
            SpeechInterrupted: The user has objected before the tool took effect.
        """
        await super().wait_for_playout()

    async def commit_point(self) -> None:
        """Call this right before a side effect. It raises if the user has objected.

        If the user is speaking, it waits until it is known whether they object.

        Raises:
            SpeechInterrupted: The user has objected, or the application has interrupted the turn.
                If the tool does not catch it, the call ends with this error.
        """

    @property
    def call_key(self) -> str:
        """The key of this call, unique over all sessions of a store.

        Pass it to a service as its idempotency key. After a crash `recover_with` gets the same key.
        """
        return f"{self.speech_handle.id}/{self.function_call.call_id}"
