"""Governs a share of the pipelines, and observes the others."""

from __future__ import annotations

from collections.abc import Callable

from turnfsm.runtime.rollout import rollout_of

from .governor import TurnGovernor

__all__ = ["rollout"]


def rollout(share: float) -> Callable[..., TurnGovernor]:
    """Make governors, a share of which governs; the others observe.

    The journal of each says to which group it belongs, and `turnfsm report` shows the figures of
    both side by side.

    Args:
        share: The share that is governed, from 0 to 1.

    Returns:
        A function with the arguments of `TurnGovernor`. Conversations with the same `session_id`
        are in the same group, also if the share grows: who is governed stays governed. Without one
        it is drawn by lot.

    Raises:
        TurnfsmError: The share is not a number from 0 to 1.

    Example:
        >>> from turnfsm.pipecat import rollout
        >>> new_governor = rollout(0.1)
        >>> governor = new_governor(session_id="room-17")
        >>> next(governor.turn.journal.notes("rollout")).data["group"]
        'observed'
    """
    return rollout_of(TurnGovernor, share)
