"""The random flows are valid, varied, and survive being written as YAML."""

from collections.abc import Iterator

import attrs
from hypothesis import HealthCheck, given, settings
from strategies import flow_to_yaml, flows

from turnfsm.fsm import Flow, load_flow, parse_flow, shipped_flows

QUICK = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@QUICK
@given(flows())
def test_a_random_flow_survives_yaml(flow: Flow) -> None:
    """A generated flow loads from its YAML without a finding, equal and in the same order."""
    loaded, findings = parse_flow(flow_to_yaml(flow))
    assert findings == []
    assert loaded == flow
    assert [r.id for r in loaded.rows()] == [r.id for r in flow.rows()]


def test_shipped_flows_survive_yaml() -> None:
    """A hand-written flow loads to an equal one from the YAML that was made of it."""
    for name in shipped_flows():
        flow = load_flow(name)
        # A variant may keep timers of its base that it has no use for; a flow of its own may not.
        used = {row.trigger for row in flow.rows() if row.timer}
        sets = {
            name: {t: s for t, s in one.items() if t in used or t not in flow.timers}
            for name, one in flow.limit_sets.items()
        }
        timers = {t: s for t, s in flow.timers.items() if t in used}
        flow = attrs.evolve(flow, timers=timers, limit_sets=sets)
        loaded, findings = parse_flow(flow_to_yaml(flow))
        assert loaded == flow, findings


def test_the_strategy_reaches_everything() -> None:
    """Guards, alternatives, timers, fences, host facts, ignored events, large flows: all occur."""
    seen: set[str] = set()
    largest = 0

    @settings(QUICK, max_examples=40)
    @given(flows())
    def look(flow: Flow) -> None:
        nonlocal largest
        seen.update(_features(flow))
        largest = max(largest, len(list(flow.rows())))

    look()
    assert seen == {
        "guarded alternative",
        "internal timer",
        "fence",
        "ignored event",
        "host fact",
        "final",
    }
    assert largest > 25


def _features(flow: Flow) -> Iterator[str]:
    for row in flow.rows():
        if row.index and row.transition.conditions:
            yield "guarded alternative"
        if row.timer and row.internal:
            yield "internal timer"
    if any(trigger.of for trigger in flow.triggers.values()):
        yield "fence"
    if flow.host_facts:
        yield "host fact"
    for state in flow.states.values():
        yield from ["ignored event"] * bool(state.ignores) + ["final"] * state.final
