"""The paths of a flow: shortest, complete, and true of the machine."""

from __future__ import annotations

from collections import deque

import pytest
from covers import FLOWS, covered
from flow_text import parsed
from hypothesis import HealthCheck, given, settings
from strategies import flows

from turnfsm.fsm import Flow, Machine
from turnfsm.fsm.cover import Cover, CoveringPath, cover

MANY = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

GATE = """
flow: gate
initial: shut
scopes: {visit: {begins: ring, ends: leave}}
requests: {push: {of: visit}}
events: {ring: {}, leave: {of: visit}, never: {}}
facts:
  visit: {rung: {set_by: ring}}
  host: {friend}
timers: {soon: 1.0, late: 5.0}
states:
  shut:
    on:
      push:
        - {dest: open, conditions: [rung, friend]}
        - {dest: alarm, unless: [rung]}
      leave: {}
    after: {late: {dest: shut}, soon: {conditions: [rung]}}
  open: {after: {late: {dest: shut}}}
  alarm: {}
  island: {on: {never: {dest: shut}}}
"""


def _gate() -> Flow:
    return parsed(GATE)


def _run(flow: Flow, path: CoveringPath) -> set[str]:
    """Drive a machine along a path; gives the goals that it met by its own account."""
    machine = Machine(flow)
    met = {f"state {flow.initial}"}
    for step in path.steps:
        before = machine.state
        assert not step.timer or step.trigger in machine.timers
        machine.set_host_facts(step.host_facts)
        verdict = machine.step(step.trigger, step.of)
        assert (verdict.reason if not verdict else "taken") == step.verdict, (path.name, step)
        assert machine.state == step.state
        host_facts = {*flow.host_facts}
        facts = tuple(f for f in machine.program.names(machine.facts) if f not in host_facts)
        assert facts == step.facts
        assert (verdict.actions if verdict else ()) == step.actions
        met.add(f"state {machine.state}")
        if verdict:
            met.add(f"row {verdict.row}" if verdict.row else f"facts only {before}.{step.trigger}")
        else:
            met.add(f"refused {before}.{step.trigger}")
    return met


def _check(flow: Flow, found: Cover) -> None:
    met: set[str] = set()
    for path in found.paths:
        goals = _run(flow, path)
        assert {*path.covers} <= goals, path.name
        met |= goals
    assert {f"state {name}" for name in flow.states} - met <= {*found.unreachable}
    assert {f"row {row.id}" for row in flow.rows()} - met <= {*found.unreachable}
    assert not met & {*found.unreachable}


@pytest.mark.parametrize("name", FLOWS)
def test_the_machine_follows_every_path(name: str) -> None:
    """A shipped flow is covered whole, and the machine does at each step what the path says."""
    found = covered(name)
    assert found.unreachable == ()
    _check(FLOWS[name], found)


def _outcomes(flow: Flow, path: CoveringPath) -> set[tuple[str, bool]]:
    """Each guard that a path meets, and whether it held, by the facts alone."""
    met: set[tuple[str, bool]] = set()
    true, state = set[str](), flow.initial
    for step in path.steps:
        true = {fact for fact in true if fact not in flow.host_facts}
        true |= {fact for fact, answer in step.host_facts.items() if answer}
        for row in (row for row in flow.rows(state) if row.trigger == step.trigger):
            holds = true.issuperset(row.transition.conditions)
            holds = holds and true.isdisjoint(row.transition.unless)
            met.add((row.id, holds))
            if holds:
                break
        true, state = {*step.facts}, step.state
    return met


@pytest.mark.parametrize("name", FLOWS)
def test_every_guard_is_met_both_ways(name: str) -> None:
    """Each guard of a shipped flow holds on some path and fails on some path."""
    flow = FLOWS[name]
    met = {outcome for path in covered(name).paths for outcome in _outcomes(flow, path)}
    guarded = [r.id for r in flow.rows() if r.transition.conditions or r.transition.unless]
    assert [row for row in guarded if not {(row, True), (row, False)} <= met] == []


@pytest.mark.parametrize("name", FLOWS)
def test_timers_can_fire_in_the_order_of_a_path(name: str) -> None:
    """There are seconds under which each path of a shipped flow happens in time."""
    assert all(path.timers is not None for path in covered(name).paths)


@MANY
@given(flows(max_states=6, max_transitions=30, properties=False))
def test_random_flows_are_covered(flow: Flow) -> None:
    """What no path reaches is said; everything else is met, as the machine tells it."""
    _check(flow, cover(flow))


def _distances(flow: Flow) -> dict[str, int]:
    """Steps to each row by a search of its own: every trigger, answer and configuration."""
    machine, best = Machine(flow), dict[str, int]()
    start = (flow.initial, (), ())
    seen, queue = {start}, deque([(start, 0)])
    answers = [()]
    for fact in flow.host_facts:
        answers = [(*a, (fact, v)) for a in answers for v in (False, True)]
    while queue:
        (state, facts, current), steps = queue.popleft()
        for trigger in (*flow.triggers, *flow.states[state].after):
            body = flow.triggers.get(trigger)
            begins = [n for n, s in flow.scopes.items() if trigger in s.begins]
            if body and body.of and body.of not in (*begins, *current):
                continue
            for answer in answers:
                machine.restore(state, facts)
                machine.set_host_facts(dict(answer))
                verdict = machine.step(trigger)
                if not verdict:
                    continue
                if verdict.row:
                    best.setdefault(verdict.row, steps + 1)
                own = machine.program.names(machine.facts & ~machine.program.host_mask)
                ends = {n for n, s in flow.scopes.items() if trigger in s.ends}
                node = (machine.state, own, tuple(sorted({*current, *begins} - ends)))
                if node not in seen:
                    seen.add(node)
                    queue.append((node, steps + 1))
    return best


@MANY
@given(flows(max_states=4, max_transitions=15, properties=False))
def test_paths_are_the_shortest(flow: Flow) -> None:
    """No other search reaches a row in fewer steps than the path that was made for it."""
    best = _distances(flow)
    found = cover(flow)
    for path in found.paths:
        kind, _, row = path.name.partition(" ")
        if kind == "row":
            assert len(path.steps) == best[row]
    assert {g for g in found.unreachable if g.startswith("row ")} == {
        f"row {row.id}" for row in flow.rows() if row.id not in best
    }


def test_paths_of_a_small_flow_meet_guards_both_ways() -> None:
    """Guards are met both ways, scopes are named, and what is out of reach is listed."""
    found = cover(_gate())
    _check(_gate(), found)
    assert found.unreachable == (
        "state alarm",
        "state island",
        "row shut.push.1",
        "row island.never.0",
    )
    by_goal = {goal: path for path in found.paths for goal in path.covers}
    opened = by_goal["row shut.push.0"]
    assert [(s.trigger, s.of) for s in opened.steps][:2] == [
        ("ring", "visit 1"),
        ("push", "visit 1"),
    ]
    assert opened.steps[1].host_facts == {"friend": True}
    assert opened.steps[1].facts == ("rung",)
    refused = by_goal["refused shut.push"].steps[-1]
    assert (refused.verdict, refused.host_facts, refused.state) == (
        "guard",
        {"friend": False},
        "shut",
    )


def test_seconds_follow_the_path() -> None:
    """The timer that fires is the first of its state; where no order can do it, none is given."""
    by_goal = {g: s for s in cover(_gate()).paths for g in s.covers}
    late = by_goal["row shut.late.0"].timers
    assert late is not None
    assert late["late"] < late["soon"]
    assert by_goal["row shut.leave.0"].timers == {}


def test_an_impossible_order_of_timers_is_reported() -> None:
    """A timer that must come before another here and after it there has no length."""
    flow = parsed(
        "flow: twist\ninitial: one\ntimers: {a: 1.0, b: 2.0}\nstates:\n"
        "  one: {after: {a: {dest: two}, b: {}}}\n"
        "  two: {after: {b: {dest: three}, a: {}}}\n"
        "  three: {}\n"
    )
    by_goal = {g: s for s in cover(flow).paths for g in s.covers}
    assert [step.trigger for step in by_goal["state three"].steps] == ["a", "b"]
    assert by_goal["state three"].timers is None
