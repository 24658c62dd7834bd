"""Governs a share of the sessions, and observes the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnfsm.runtime.rollout import rollout_of

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
        the same group, even if the share grows. Without one the group is
        random.

    Raises:
        TurnfsmError: The share is not a number from 0 to 1.

    Example:
        >>> from turnfsm.livekit import rollout
        >>> new_session = rollout(0.1)
        >>> session = new_session(session_id="room-17")  # and stt=..., llm=..., tts=...
        >>> next(session.turn.journal.notes("rollout")).data["group"]
        'observed'
    """
    return rollout_of(TurnSession, share)
