"""Wraps a realtime session for an activity."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from livekit.agents import llm

from .conversation import Asker, ChatContextSync
from .speech import GovernedHandle, current_speech

__all__ = ["ClosedRealtimeSession", "GovernedModel", "in_speech_task"]


EVENTS = ("input_speech_started", "input_speech_stopped", "generation_created")
"""The events of a model that the activity gets, by methods of the same names."""


class GovernedModel:
    """The wrapper that LiveKit and the application get for a realtime session.

    Everything sent to the model goes through `sync`. Everything else is delegated to the session,
    which is not modified.

    Args:
        model: The realtime session.
        sync: Sends the conversation to the model.
        defers_turns: Returns whether a turn is deferred.
    """

    def __init__(
        self,
        model: llm.RealtimeSession[Any],
        sync: ChatContextSync,
        defers_turns: Callable[[], bool],
    ) -> None:
        own: dict[str, Any] = self.__dict__
        own["_model"], own["sync"], own["wrapped"] = model, sync, {}
        own["update_chat_ctx"], own["generate_reply"] = sync, sync.generate_reply
        own["defers_turns"], own["taken_over_in"] = defers_turns, None

    def interrupt(self) -> None:
        """As `RealtimeSession.interrupt`.

        LiveKit calls it before a reply to results, even if that reply is dropped because the turn
        is over. It would then interrupt the model's answer to the user.
        """
        speech = current_speech()
        over = isinstance(speech, GovernedHandle) and speech.interrupted and speech.steps_over
        if not (over and in_speech_task()):
            self._model.interrupt()

    def say(self, text: Any) -> Any:
        """As `RealtimeSession.say`."""
        self.sync.asker.asks()
        return self._model.say(text)

    def clear_audio(self) -> None:
        """As `RealtimeSession.clear_audio`.

        When an agent takes over the session, LiveKit clears the user's uncommitted audio. Here it
        stays, and the next agent answers it. The audio of a deferred turn stays until it can be
        answered.
        """
        if self.taken_over_in is not None and self.taken_over_in is asyncio.current_task():
            self.__dict__["taken_over_in"] = None
        elif not self.defers_turns():
            self._model.clear_audio()

    def on(self, event: Any, callback: Callable[..., Any]) -> Callable[..., Any]:
        """As `RealtimeSession.on`. The activity gets the events of LiveKit's handler, and calls
        it."""
        asker = self.sync.asker
        if event in EVENTS and getattr(callback, "__self__", None) is asker:
            self.wrapped[event, callback] = partial(getattr(asker, event), callback)
        self._model.on(event, self.wrapped.get((event, callback), callback))
        return callback

    def off(self, event: Any, callback: Callable[..., Any]) -> None:
        """As `RealtimeSession.off`."""
        self._model.off(event, self.wrapped.pop((event, callback), callback))

    def taken_over(self, by: Asker) -> None:
        """The current task starts an agent that takes the session over from the previous agent."""
        self.__dict__["taken_over_in"] = asyncio.current_task()
        self.sync.generations.end_all()
        self.sync.asker = by

    async def _update_session(self, **what: Any) -> None:
        # LiveKit's own method, which sends the conversation through this object.
        await type(self._model)._update_session(self, **what)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._model)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_model"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._model, name, value)

    def __repr__(self) -> str:
        return repr(self._model)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._model

    def __hash__(self) -> int:
        return hash(self._model)


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
