"""Interruptions of every kind at moments of a tool call: ours is worse nowhere.

Quick: one moment of each second or so. `make soak ARGS=--sweep` plays every 50 ms.
"""

from __future__ import annotations

import pytest

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit.differential import POLICIES, Plan, judge_plan, sweep_plans
from turnfsm.runtime.testing.livekit.differential.sweep import INTERRUPTIONS, TOOLS

MOMENTS = 1.15
"""Seconds between them: while the model thinks, the preamble is heard, the tool works and tells."""


def chosen() -> list[Plan]:
    """A moment, a tool and a policy for each kind of interruption, none of them twice."""
    plans = list(sweep_plans(every=MOMENTS, until=6.0))
    return [plan for place, plan in enumerate(plans) if place % 29 == 0]


@pytest.mark.parametrize("plan", chosen(), ids=lambda plan: plan.name)
def test_an_interruption_is_no_worse_than_on_stock(plan: Plan) -> None:
    """Nothing is worse than stock that the table in docs/livekit.md does not explain."""
    assert judge_plan(plan, TurnSession).worse == ()


def test_every_kind_is_among_them() -> None:
    """Interruptions, tools and policies."""
    names = [plan.name for plan in chosen()]
    for words in (INTERRUPTIONS, TOOLS, POLICIES):
        assert all(any(word in name for name in names) for word in words)
