"""A realtime model's session as an activity sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livekit.agents import llm

from .conversation import Asker, ChatContextSync
from .taken_over import InputAudio, unless_over

__all__ = ["GovernedModel"]


class GovernedModel:
    """Stands for a realtime session where LiveKit and the application ask for it.

    What is sent to the model goes through `sync`. Everything else is the session's own, which
    stays as its model has made it.

    Args:
        model: The realtime session.
        sync: What is sent to it.
        defers_turns: Whether a turn is deferred.
    """

    def __init__(
        self,
        model: llm.RealtimeSession[Any],
        sync: ChatContextSync,
        defers_turns: Callable[[], bool],
    ) -> None:
        own: dict[str, Any] = self.__dict__
        own["_model"], own["sync"] = model, sync
        own["update_chat_ctx"], own["generate_reply"] = sync, sync.generate_reply
        own["interrupt"] = unless_over(model.interrupt)
        own["clear_audio"] = InputAudio(model, defers_turns)

    def taken_over(self, by: Asker) -> None:
        """The current task begins an agent that has it from the agent before."""
        self.clear_audio.taken_over()
        self.sync.generations.end_all()
        self.sync.asker = by

    async def _update_session(self, **what: Any) -> None:
        # LiveKit's own: it sends the conversation as this object does.
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
