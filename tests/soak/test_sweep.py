"""Interruptions of every kind at moments of a tool call: ours is worse nowhere.

Quick: one moment of each second or so. `make soak ARGS=--sweep` plays every 50 ms.
"""

from __future__ import annotations

import pytest
from known_sweep import KNOWN

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
def test_an_interruption(plan: Plan) -> None:
    """What is known to be worse is marked with its finding."""
    kinds = {found.kind for found in judge_plan(plan, TurnSession).worse}
    known = KNOWN.get(plan.name, {})
    assert kinds == set(known)
    if known:
        pytest.xfail(f"findings {', '.join(sorted(set(known.values())))}")


def test_every_kind_is_among_them() -> None:
    """Interruptions, tools and policies."""
    names = [plan.name for plan in chosen()]
    for words in (INTERRUPTIONS, TOOLS, POLICIES):
        assert all(any(word in name for name in names) for word in words)


def test_what_is_known_is_played() -> None:
    """A mark that no plan has would hide nothing, and say so to nobody."""
    assert set(KNOWN) <= {plan.name for plan in chosen()}
