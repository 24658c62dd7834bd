"""A request that is sent before the user's turn is committed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from pipecat.frames import frames as f
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.runtime.host.reply import Reply

__all__ = ["Speculation"]


class Speculation:
    """The speculative request that was sent, if any.

    The LLM service holds the response until it gets the `UserStoppedSpeakingFrame`. So that frame
    is held until the reply has the floor. If the reply needs another request, this one is
    withdrawn.

    Args:
        push: Pushes a frame to the LLM service.
    """

    def __init__(self, push: Callable[[f.Frame], Coroutine[Any, Any, None]]) -> None:
        self._push = push
        self._sent: LLMContext | None = None
        self._end: f.UserStoppedSpeakingFrame | None = None
        self._reply: Reply | None = None

    @property
    def pending(self) -> bool:
        """A request was sent, and it is open whether its response will be heard."""
        return self._sent is not None

    def sent(self, context: LLMContext) -> None:
        """A request passes."""
        self._sent = context

    def holds(self, end: f.UserStoppedSpeakingFrame) -> bool:
        """Whether the frame is held back."""
        if self._sent is None or self._end is not None:
            return False
        self._end = end
        return True

    def confirmed(self, reply: Reply) -> None:
        """The turn was committed with the same text; this reply answers it."""
        self._reply = reply

    async def answers(self, reply: Reply, context: LLMContext) -> bool:
        """A reply has the floor, and is about to be requested with this context. If the response
        that the LLM service holds answers it, let the service release it.

        Returns:
            Whether it does. Otherwise the request is to be sent.
        """
        if reply is not self._reply or not self._asks(context):
            await self.withdraw()
            return False
        await self.forget()
        return True

    async def withdraw(self, reply: Reply | None = None) -> None:
        """Discard the response; with a reply, only that which answers it."""
        if self._sent is not None and reply in (None, self._reply):
            await self._push(f.EagerEndOfTurnCancelFrame())
            await self.forget()

    async def forget(self) -> None:
        """The LLM service has discarded the response, or may release it."""
        end, self._sent, self._end, self._reply = self._end, None, None, None
        if end is not None:
            await self._push(end)

    def _asks(self, context: LLMContext) -> bool:
        """Both requests are the same, apart from how the STT writes the last words."""
        sent = self._sent
        if sent is None or len(sent.messages) != len(context.messages):
            return False
        before = sent.messages[:-1] == context.messages[:-1]
        return before and (sent.tools, sent.tool_choice) == (context.tools, context.tool_choice)
