"""Makes LiveKit's event and chat models read the clock when used, not when imported."""

from __future__ import annotations

import time

from livekit.agents import llm, voice
from livekit.agents.voice import events
from pydantic import BaseModel

from turnfsm.runtime.testing.clock import REAL_TIME

__all__ = ["bind_wall_clock"]


def _now() -> float:
    return time.time()


def bind_wall_clock() -> None:
    """Make `created_at` of livekit's models follow a patched `time.time`.

    Those fields hold the function itself as their default factory, so a later patch of the `time`
    module would not reach them, and LiveKit orders the chat context by `created_at`. Idempotent,
    and without effect in real time.
    """
    for module in (llm.chat_context, events, voice.run_result):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, BaseModel):
                _rebind(value)


def _rebind(model: type[BaseModel]) -> None:
    stale = [f for f in model.model_fields.values() if f.default_factory is REAL_TIME]
    for field in stale:
        field.default_factory = _now
    if stale:
        model.model_rebuild(force=True)
