"""What is computed once for each flow object."""

from __future__ import annotations

import attrs

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.memo import once_for_each_flow


def test_a_flow_is_looked_at_once_and_another_one_for_itself() -> None:
    """Also if it is equal, or comes into the place of one that is gone."""
    seen: list[str] = []

    @once_for_each_flow
    def name(flow: Flow) -> str:
        seen.append(flow.name)
        return flow.name

    turn = load_flow("turn")
    assert [name(turn), name(turn)] == ["turn", "turn"]
    assert seen == ["turn"]
    for n in range(50):
        other = attrs.evolve(turn, name=f"other {n}")
        assert name(other) == f"other {n}"
        del other
    assert len(seen) == 51
