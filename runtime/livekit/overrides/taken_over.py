"""Protects a realtime session that outlives an agent or a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit.agents import llm

from .speech import GovernedHandle, current_speech

__all__ = ["ClosedRealtimeSession", "InputAudio", "in_speech_task", "unless_over"]


class InputAudio:
    """Replaces `clear_audio` of a realtime session.

    When an agent takes over the session, LiveKit clears the user's uncommitted audio. Here it
    stays, and the next agent answers it. The audio of a deferred turn stays until it can be
    answered.

    Args:
        model: The realtime session.
        defers_turns: Returns whether a turn is deferred.
    """

    def __init__(self, model: llm.RealtimeSession[Any], defers_turns: Callable[[], bool]) -> None:
        self._clear = model.clear_audio
        self._defers_turns = defers_turns
        self._taken_over_in: asyncio.Task[Any] | None = None

    def taken_over(self) -> None:
        """The current task starts an agent with this session."""
        self._taken_over_in = asyncio.current_task()

    def __call__(self) -> None:
        begins = self._taken_over_in is not None
        if begins and self._taken_over_in is asyncio.current_task():
            self._taken_over_in = None
        elif not self._defers_turns():
            self._clear()


class ClosedRealtimeSession:
    """A realtime session that does nothing, for a speech that outlives its agent."""

    def __init__(self, model: llm.RealtimeSession[Any]) -> None:
        self.capabilities = model.capabilities
        self.realtime_model = model.realtime_model
        self.chat_ctx = llm.ChatContext.empty()

    async def _send(self, *_: Any, **__: Any) -> None:
        pass

    def _do(self, *_: Any, **__: Any) -> None:
        pass

    update_chat_ctx = update_tools = _send
    update_options = interrupt = truncate = _do


def in_speech_task() -> bool:
    """The current task belongs to a speech, not to a tool or the application."""
    speech = current_speech()
    return isinstance(speech, GovernedHandle) and asyncio.current_task() in speech.tasks


def unless_over(interrupt: Callable[[], None]) -> Callable[[], None]:
    """A model's `interrupt`. LiveKit calls it before a reply to results, even if that reply is
    dropped because the turn is over. It would then interrupt the model's answer to the user."""

    def interrupt_model() -> None:
        speech = current_speech()
        over = isinstance(speech, GovernedHandle) and speech.interrupted and speech.steps_over
        if not (over and in_speech_task()):
            interrupt()

    return interrupt_model
