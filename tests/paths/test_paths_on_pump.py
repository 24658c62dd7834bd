"""The paths of the shipped flows on the real runtime, in virtual time: model and pump agree."""

from __future__ import annotations

import attrs
import pytest
from covers import FLOWS, covered

from turnfsm.runtime.testing.pump_walk import play_path


@pytest.mark.parametrize("name", FLOWS)
def test_the_runtime_follows_the_paths(name: str) -> None:
    """Each trigger and timer gets the verdict, state, facts and actions that the path foretells."""
    paths = covered(name).paths
    assert paths
    problems = {path.name: play_path(path, FLOWS[name]) for path in paths}
    assert {path: said for path, said in problems.items() if said} == {}


def test_a_path_of_another_flow_is_reported() -> None:
    """A path is no path of a flow that does otherwise: each difference is said."""
    turn = FLOWS["turn"]
    by_goal = {goal: path for path in covered("turn").paths for goal in path.covers}
    path = by_goal["row paused.pause_limit.0"]
    paused = attrs.evolve(turn.states["paused"], after={})
    changed = attrs.evolve(turn, states={**turn.states, "paused": paused})
    problems = play_path(path, changed)
    assert problems[0] == f"step {len(path.steps)}, pause_limit: verdict (), not ('taken',)"
    assert "state 'paused', not 'interrupted'" in problems[1]
