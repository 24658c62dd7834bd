"""A flow that follows a session has the timers that it would have if it governed."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pytest

from turnfsm import parse_flow
from turnfsm.fsm.audit.events import Recorded
from turnfsm.fsm.audit.follower import Follower, Post

PARSED, PROBLEMS = parse_flow("""
flow: door
initial: shut
events: {open: It opens., close: It closes.}
timers: {late: 10, slam: 3}
states:
  shut: {on: {open: {dest: wide}}, after: {late: {dest: locked}}}
  wide: {on: {close: {dest: shut}}, after: {late: {dest: locked}, slam: {dest: shut}}}
  locked: {}
""")


assert PARSED is not None, PROBLEMS
FLOW = attrs.evolve(PARSED, lasting=("late",))


class Named:
    """Posts the event of the same name."""

    def __init__(self, post: Post) -> None:
        self._post = post

    def process(self, event: Recorded) -> None:
        self._post(event.name, None)

    def host_facts(self) -> Mapping[str, bool]:
        return {}


@pytest.mark.parametrize(("until", "state"), [(9.0, "shut"), (11.0, "locked")])
def test_a_lasting_timer_goes_on_when_a_state_is_entered(until: float, state: str) -> None:
    """Others start again."""
    follower = Follower(FLOW, Named)
    for t, name in ((2.0, "open"), (4.0, "close"), (6.0, "open")):
        follower.process(Recorded(t, name, {}))
    follower.go_to(8.9)
    assert follower.state == "wide"
    follower.go_to(until)
    assert follower.state == state
