"""Timers that are `lasting` go on when the state changes to one that has them, too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from calls import flow_of
from hypothesis import given
from hypothesis import strategies as st

from turnfsm import TurnRuntime
from turnfsm.fsm import FlowError, Machine, Taken, parse_flow
from turnfsm.fsm.diagram.lanes import read_lanes
from turnfsm.fsm.interop.xstate import to_xstate
from turnfsm.fsm.journal import replay
from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.view.simulator import simulate

QUIET = """
flow: quiet
initial: idle
events: {asked: {}, tool: {}, result: {}, heard: {}, voice: {}, again: {}, anew: {}}
facts: {session: {voiced: {set_by: voice, cleared_by: heard}}}
timers: {quiet: 4.0, work: 3.0}
lasting: quiet
actions: {say: Say something.}
states:
  idle:
    on: {asked: {dest: thinking}}
  thinking:
    on:
      tool: {dest: working}
      again: {dest: thinking}
      heard: {dest: idle}
      anew: {dest: thinking, restarts: quiet}
    after: {quiet: {unless: voiced, actions: say}, work: {}}
  working:
    on: {result: {dest: thinking}, heard: {dest: idle}}
    after: {quiet: {unless: voiced, actions: say}, work: {dest: thinking}}
"""


class Says:
    """Notes nothing: the journal has what was said."""

    def say(self, event: Any) -> None:
        """The action of the flow."""


def said(
    *posts: tuple[float, str], until: float = 20.0, text: str = QUIET
) -> tuple[list[float], TurnRuntime]:
    """When the timer was taken, if these triggers are posted at these seconds."""

    async def talk() -> TurnRuntime:
        turn = TurnRuntime(flow_of(text), Says())
        turn.start()
        now = 0.0
        for at, trigger in posts:
            await asyncio.sleep(at - now)
            now = at
            turn.post(trigger)
        await asyncio.sleep(until - now)
        await turn.aclose()
        return turn

    turn = run(talk())
    assert replay(turn.journal.read(), turn.flow) is None
    taken = [e for e in turn.journal if e.trigger == "quiet" and e.verdict]
    return [round(entry.t, 6) for entry in taken], turn


@pytest.mark.parametrize(
    ("posts", "times"),
    [
        ([(1.0, "asked")], [5.0, 9.0, 13.0, 17.0]),
        ([(1.0, "asked"), (2.0, "tool"), (3.0, "result"), (4.5, "tool"), (5.5, "heard")], [5.0]),
        ([(1.0, "asked"), (3.0, "again"), (4.0, "again"), (5.5, "heard")], [5.0]),
        ([(1.0, "asked"), (3.0, "heard"), (4.0, "asked"), (9.0, "heard")], [8.0]),
        ([(1.0, "asked"), (3.0, "anew"), (8.0, "heard")], [7.0]),
        ([(1.0, "asked"), (2.0, "tool"), (8.5, "heard")], [5.0]),
        ([(1.0, "asked"), (2.0, "voice"), (6.0, "tool"), (7.0, "heard")], []),
    ],
    ids=[
        "as any timer",
        "to another state and back",
        "the state is entered again",
        "a state without it stops it",
        "restarts",
        "when another timer leaves the state",
        "refused in both",
    ],
)
def test_it_goes_on(posts: list[tuple[float, str]], times: list[float]) -> None:
    """Whatever states come, unless one of them does not have it."""
    assert said(*posts)[0] == times


def test_it_is_still_due_in_the_next_state() -> None:
    """What holds it back ends there: it is taken at once."""
    flow = QUIET.replace(
        "heard: {dest: idle}}\n    after: {quiet: {unless: voiced, actions: say}, work: {dest",
        "heard: {}}\n    after: {quiet: {unless: voiced, actions: say}, work: {dest",
    )
    assert flow != QUIET
    times, turn = said(
        (1.0, "asked"), (2.0, "voice"), (6.0, "tool"), (6.5, "heard"), text=flow, until=7.0
    )
    assert times == [6.5]
    assert turn.state == "working"


@given(
    st.lists(
        st.tuples(
            st.integers(1, 9),
            st.sampled_from(["tool", "result", "again", "anew", "heard", "asked"]),
        ),
        max_size=12,
    )
)
def test_no_silence_in_these_states_is_longer(moves: list[tuple[int, str]]) -> None:
    """From when the states were entered, or the timer was taken or restarted: at most 4 s."""
    now, posts = 0.0, [(0.0, "asked")]
    for tenths, trigger in moves:
        now += tenths * 0.7
        posts.append((now, trigger))
    _, turn = said(*posts, until=now + 1)
    since: float | None = None
    for entry in turn.journal:
        if since is not None:
            assert entry.t <= since + 4.0 + 1e-6
        state = entry.verdict.dest
        if state == "idle":
            since = None
        elif since is None or (entry.trigger in ("quiet", "anew") and entry.verdict):
            since = entry.t


def test_a_machine_says_which_timers_go_on() -> None:
    machine = Machine(flow_of(QUIET))
    machine.step("asked")
    kept = machine.step("tool")
    assert isinstance(kept, Taken)
    assert (kept.keeps, kept.restarts) == (("quiet",), ())
    for trigger in ("work", "anew", "heard"):
        assert machine.step(trigger).keeps == (("quiet",) if trigger == "work" else ())


def test_simulator_and_timeline_count_it_on() -> None:
    """The simulator fires it when it is due; the timeline says since when it has run."""
    presses = [{"trigger": trigger} for trigger in ("asked", "tool", "result", "quiet")]
    records = simulate(flow_of(QUIET), presses)["records"]
    assert [record["t"] for record in records] == [0.5, 1.0, 1.5, 4.5]
    _, turn = said((1.0, "asked"), (2.0, "tool"), (3.0, "heard"), until=4.0)
    tips = [span.tip for span in read_lanes(turn.journal.read(), turn.flow).timers]
    assert [tip for tip in tips if tip.startswith("quiet")] == [
        "quiet: armed 1.00 s, due 5.00 s, ended 2.00 s",
        "quiet: armed 1.00 s, due 5.00 s, ended 3.00 s",
    ]


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("lasting: quiet", "lasting: quite", "quiet:7:10", "did you mean 'quiet'?"),
        ("restarts: quiet", "restarts: work", "quiet:17:30", "names timers that are 'lasting'"),
    ],
)
def test_a_mistake_is_reported_with_its_place(old: str, new: str, place: str, says: str) -> None:
    _, findings = parse_flow(QUIET.replace(old, new), "quiet")
    finding = findings[0]
    assert finding.place == place
    assert says in finding.remedy


def test_xstate_has_no_such_timers() -> None:
    with pytest.raises(FlowError, match="'quiet' is lasting"):
        to_xstate(flow_of(QUIET))
