"""Wraps a realtime session for an activity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from livekit.agents import llm

from .conversation import Asker, ChatContextSync
from .taken_over import InputAudio, unless_over

__all__ = ["GovernedModel"]


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
        own["interrupt"] = unless_over(model.interrupt)
        own["clear_audio"] = InputAudio(model, defers_turns)

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
        self.clear_audio.taken_over()
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
