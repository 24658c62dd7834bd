"""Governs a share of the conversations, and observes the others."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, TypeVar

from turnfsm.fsm import TurnfsmError

__all__ = ["rollout_of"]

Made = TypeVar("Made")


def rollout_of(make: Callable[..., Made], share: float) -> Callable[..., Made]:
    """A function that makes what governs a share of the conversations, and observes the others.

    Args:
        make: Takes `observe` and `session_id`. What it makes has a `turn`.
        share: From 0 to 1; a `TurnfsmError` says if it is not.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise TurnfsmError(f"a share cannot be {share!r}; give a number from 0 to 1, such as 0.1")

    def made(*flow: Any, **options: Any) -> Made:
        if _lot(options.get("session_id")) >= share:
            return make(*flow, **options, observe=True)
        governed: Any = make(*flow, **options)
        governed.turn.note("rollout", group="governed")
        return governed  # type: ignore[no-any-return]

    return made


def _lot(session_id: str | None) -> float:
    """From 0 to 1, the same for the same id."""
    drawn = secrets.token_bytes(7)
    if session_id is not None:
        drawn = blake2b(session_id.encode(), digest_size=7).digest()
    return int.from_bytes(drawn, "big") / 2**56
