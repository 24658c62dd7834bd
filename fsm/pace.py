"""The pace of a conversation: one factor for the delays that a caller notices."""

from __future__ import annotations

from typing import Literal

__all__ = ["Pace", "times"]

Pace = Literal["calm", "normal", "brisk"]
"""How patient the agent is: ``calm`` waits longer, ``brisk`` answers and asks sooner."""

_FACTORS = {"calm": 1.5, "normal": 1.0, "brisk": 0.6}


def times(pace: Pace, seconds: float) -> float:
    """The seconds at a pace, given those at the pace ``normal``.

    Example:
        >>> from turnfsm.fsm.pace import times
        >>> times("brisk", 8.0)
        4.8
    """
    return round(seconds * _FACTORS[pace], 3)
