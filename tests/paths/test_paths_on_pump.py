"""The paths of the shipped flows on the real runtime, in virtual time: model and pump agree."""

from __future__ import annotations

import attrs
import pytest
from covers import COVERS, FLOWS

from turnfsm.fsm import Flow
from turnfsm.fsm.cover import CoveringPath
from turnfsm.runtime.testing import play_path

CASES = [
    pytest.param(flow, scenario, id=f"{name}-{scenario.name.replace(' ', '-')}")
    for name, flow in FLOWS.items()
    for scenario in COVERS[name].paths
]


@pytest.mark.parametrize(("flow", "scenario"), CASES)
def test_the_runtime_follows_the_path(flow: Flow, scenario: CoveringPath) -> None:
    """Each trigger and timer gets the verdict, state, facts and actions that the path foretells."""
    assert scenario.timers is not None
    assert play_path(scenario, flow) == ()


def test_a_path_of_another_flow_is_reported() -> None:
    """A path is no path of a flow that does otherwise: each difference is said."""
    turn = FLOWS["turn"]
    by_goal = {goal: path for path in COVERS["turn"].paths for goal in path.covers}
    path = by_goal["row paused.pause_limit.0"]
    paused = attrs.evolve(turn.states["paused"], after={})
    changed = attrs.evolve(turn, states={**turn.states, "paused": paused})
    problems = play_path(path, changed)
    assert problems[0] == f"step {len(path.steps)}, pause_limit: verdict (), not ('taken',)"
    assert "state 'paused', not 'interrupted'" in problems[1]
