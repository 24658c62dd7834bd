"""Governs a share of the sessions, and observes the others."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from turnfsm.fsm import TurnfsmError

from .session import TurnSession

__all__ = ["rollout"]


def rollout(share: float) -> Callable[..., TurnSession[Any]]:
    """Make sessions, a share of which is governed; the others are observed.

    The journal of each says to which group it belongs, and `turnfsm report` shows the figures of
    both side by side.

    Args:
        share: The share that is governed, from 0 to 1.

    Returns:
        A function with the arguments of `TurnSession`. Sessions with the same `session_id` are in
        the same group, also if the share grows: who is governed stays governed. Without one it is
        drawn by lot.

    Raises:
        TurnfsmError: The share is not a number from 0 to 1.

    Example:
        >>> from turnfsm.livekit import rollout
        >>> new_session = rollout(0.1)
        >>> session = new_session(session_id="room-17")  # and stt=..., llm=..., tts=...
        >>> next(session.turn.journal.notes("rollout")).data["group"]
        'observed'
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise TurnfsmError(f"a share cannot be {share!r}; give a number from 0 to 1, such as 0.1")

    def session(**options: Any) -> TurnSession[Any]:
        if _lot(options.get("session_id")) >= share:
            return TurnSession(**options, observe=True)
        governed: TurnSession[Any] = TurnSession(**options)
        governed.turn.note("rollout", group="governed")
        return governed

    return session


def _lot(session_id: str | None) -> float:
    """From 0 to 1, the same for the same id."""
    drawn = secrets.token_bytes(7) if session_id is None else _hash(session_id)
    return int.from_bytes(drawn, "big") / 2**56


def _hash(session_id: str) -> bytes:
    return blake2b(session_id.encode(), digest_size=7).digest()
