"""A realtime session that outlives an agent or a turn, and what is not done with it then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit.agents import llm

from .speech import GovernedHandle, current_speech

__all__ = ["ClosedRealtimeSession", "InputAudio", "is_of_a_speech", "unless_over"]


class InputAudio:
    """Replaces `clear_audio` of a realtime session.

    When an agent takes the session over, LiveKit clears what the model has heard of the user and
    nobody has committed. It stays here: the next agent answers it. So does a deferred turn: it
    is in the audio until it can be answered.

    Args:
        model: The realtime session.
        defers_turns: Whether a turn is deferred.
    """

    def __init__(self, model: llm.RealtimeSession[Any], defers_turns: Callable[[], bool]) -> None:
        self._clear = model.clear_audio
        self._defers_turns = defers_turns
        self._taken_over_in: asyncio.Task[Any] | None = None

    def taken_over(self) -> None:
        """The current task begins an agent with this session."""
        self._taken_over_in = asyncio.current_task()

    def __call__(self) -> None:
        begins = self._taken_over_in is not None
        if begins and self._taken_over_in is asyncio.current_task():
            self._taken_over_in = None
        elif not self._defers_turns():
            self._clear()


class ClosedRealtimeSession:
    """The realtime session for a speech that outlives its agent: it does nothing."""

    def __init__(self, model: llm.RealtimeSession[Any]) -> None:
        self.capabilities = model.capabilities
        self.realtime_model = model.realtime_model
        self.chat_ctx = llm.ChatContext.empty()

    async def update_chat_ctx(self, chat_ctx: llm.ChatContext) -> None:
        pass

    async def update_tools(self, tools: list[llm.Tool]) -> None:
        pass

    def update_options(self, **options: Any) -> None:
        pass

    def interrupt(self) -> None:
        pass

    def truncate(self, **heard: Any) -> None:
        pass


def is_of_a_speech() -> bool:
    """The current task is one of a speech, and not of a tool or the application."""
    speech = current_speech()
    return isinstance(speech, GovernedHandle) and asyncio.current_task() in speech.tasks


def unless_over(interrupt: Callable[[], None]) -> Callable[[], None]:
    """`interrupt` of a model. LiveKit calls it before a reply to results, also where this is not
    given because the turn is over: then it would end the model's answer to the user."""

    def interrupt_model() -> None:
        speech = current_speech()
        over = isinstance(speech, GovernedHandle) and speech.interrupted and speech.steps_over
        if not (over and is_of_a_speech()):
            interrupt()

    return interrupt_model
