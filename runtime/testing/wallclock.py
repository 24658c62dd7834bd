"""Makes models that date themselves read the clock when used, not when their module is imported."""

from __future__ import annotations

import sys
import time
from typing import Any

__all__ = ["bind_wall_clock"]

_REAL_TIME = time.time

_DATED = (
    "livekit.agents.llm.chat_context",
    "livekit.agents.voice.events",
    "livekit.agents.voice.run_result",
)
"""LiveKit orders the conversation, and the events of a run, by the `created_at` of these models."""


def _now() -> float:
    return time.time()


def bind_wall_clock() -> None:
    """Make `created_at` of LiveKit's models follow a patched `time.time`.

    Those fields hold the function itself as their default factory, so a patch of the `time` module
    does not reach them. Modules that are not imported are left alone. Idempotent, and without
    effect in real time.
    """
    for module in filter(None, map(sys.modules.get, _DATED)):
        for value in vars(module).values():
            if isinstance(value, type) and hasattr(value, "model_fields"):
                _rebind(value)


def _rebind(model: Any) -> None:
    stale = [f for f in model.model_fields.values() if f.default_factory is _REAL_TIME]
    for field in stale:
        field.default_factory = _now
    if stale:
        model.model_rebuild(force=True)
