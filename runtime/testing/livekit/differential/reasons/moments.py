"""Moments and lengths of time that several reasons look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.plan import Plan

__all__ = ["ANSWER", "MOMENT", "Span", "handoffs_begun"]

Span = tuple[float, float]
"""From one moment to another."""

ANSWER = 0.5
"""Seconds that an answer is heard; one that is cut earlier does not count."""

MOMENT = 0.1
"""Seconds: a frame of the microphone and one of the model."""


def handoffs_begun(plan: Plan, measured: Measures) -> list[float]:
    """When the application called `update_agent`, and when calls that hand over had ended."""
    calls = [run.end for run in measured.runs if plan.jobs[run.number].ends == "hands_off"]
    moves = [move.at for move in plan.moves if move.what == "update_agent"]
    return [*moves, *(end for end in calls if end is not None)]
