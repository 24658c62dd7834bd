"""Interruptions of every kind at moments of a tool call or of an answer: ours is worse nowhere.

Quick: one moment of each second or so. `make soak ARGS=--sweep` plays every 50 ms.
"""

from __future__ import annotations

from typing import Any

import pytest

from turnfsm.fsm import Flow, parse_flow, shipped_flows
from turnfsm.runtime.conversation.user_reports import UserReports
from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit.differential import (
    POLICIES,
    Plan,
    answer_plans,
    judge_plan,
    sweep_plans,
)
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


def answers() -> list[Plan]:
    """Sounds while the model thinks and while its answer begins."""
    return list(answer_plans(every=0.35))[7::73]


@pytest.mark.parametrize("plan", answers(), ids=lambda plan: plan.name)
def test_what_is_said_into_an_answer_makes_it_no_worse_than_on_stock(plan: Plan) -> None:
    """No answer is begun that is out of date; after a noise it is hardly later."""
    assert judge_plan(plan, TurnSession).worse == ()


def _released_too_early() -> Flow:
    """An output that is held is released when the sound ends, before its words have come."""
    path = shipped_flows()["turn"]
    text = path.read_text(encoding="utf-8")
    held = "user_stopped_speaking: {dest: thinking, conditions: output_held}"
    assert held in text
    released = "user_stopped_speaking: {conditions: output_held, actions: release_output}"
    flow, _ = parse_flow(text.replace(held, released), str(path))
    assert flow is not None
    return flow


class TooEarly(TurnSession):
    """It begins answers that are out of date."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, flow=_released_too_early(), proof="off")


def test_an_answer_that_is_out_of_date_is_found() -> None:
    """The words come 0.8 s after their sound."""
    said = "words +0.8 at 1.85 s for 0.8 s, prepared, pause=True"
    plan = next(plan for plan in answer_plans(every=0.1) if plan.name == said)
    assert judge_plan(plan, TurnSession).worse == ()
    assert "blip" in {worse.kind for worse in judge_plan(plan, TooEarly).worse}


def test_an_answer_that_waits_for_words_that_cannot_interrupt_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only words interrupt here, and LiveKit waits for none after a noise."""
    noise = "noise at 1.5 s for 0.3 s, too few words, pause=True"
    plan = next(plan for plan in answer_plans() if plan.name == noise)
    assert judge_plan(plan, TurnSession).worse == ()
    monkeypatch.setattr(UserReports, "_may_interrupt", True)
    assert [worse.kind for worse in judge_plan(plan, TurnSession).worse] == ["late"]
