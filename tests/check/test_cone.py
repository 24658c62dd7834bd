"""What cannot influence a wait is left out, and everything that is said about it stays the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from proved import TURN, flow_of
from strategies import flows

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.check import agenda, joint_host
from turnfsm.fsm.check import restless as waits
from turnfsm.fsm.check.agenda import explore_joint
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.cone import Choice, Effect, bits_that_matter
from turnfsm.fsm.check.report import Report

Cone = Callable[[Iterable[Choice], Mapping[int, int]], dict[int, int]]


def _every_bit(choices: Iterable[Choice], looked_at: Mapping[int, int]) -> dict[int, int]:
    return dict.fromkeys(looked_at, -1)


def _the_same_everywhere(choices: Iterable[Choice], looked_at: Mapping[int, int]) -> dict[int, int]:
    """Flows of kind turn have too many configurations to follow every bit of them."""
    matter = bits_that_matter(choices, looked_at)
    return dict.fromkeys(matter, reduce(or_, matter.values()))


def _said(flow: Flow, cone: Cone = bits_that_matter) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waits, "bits_that_matter", cone)
        return attrs.evolve(check_flow(flow), seconds=0.0)


@st.composite
def _waiting(draw: st.DrawFn) -> Flow:
    """A flow with waits that some triggers end, and moves that restart timers."""
    flow = draw(flows(max_states=5, max_transitions=30))
    triggers = st.lists(st.sampled_from([*flow.triggers]), max_size=2, unique=True).map(tuple)
    waits = tuple(attrs.evolve(w, until=draw(triggers)) for w in flow.properties.leads_to)
    states = {}
    for name, state in flow.states.items():
        timers = st.sets(st.sampled_from([*state.after])) if state.after else st.just(set[str]())
        on = {
            trigger: tuple(
                row if row.dest else attrs.evolve(row, restarts=tuple(sorted(draw(timers))))
                for row in rows
            )
            for trigger, rows in state.on.items()
        }
        states[name] = attrs.evolve(state, on=on)
    properties = attrs.evolve(flow.properties, leads_to=waits)
    return attrs.evolve(flow, states=states, properties=properties)


@pytest.mark.exhaustive
@given(_waiting())
def test_random_flows_get_the_result_that_the_whole_graph_gives(flow: Flow) -> None:
    """The result of each property. The whole graph tells more configurations apart, so a loop in a
    counterexample may be longer there, and have another cause."""
    found, whole = _said(flow), _said(flow, _every_bit)
    assert found.properties == whole.properties
    assert found.notes == whole.notes
    assert _broken(found) == _broken(whole)
    ours, theirs = ({one.code: one.message for one in r.findings} for r in (found, whole))
    assert [code for code in ours if theirs.get(code, ours[code]) != ours[code]] == []
    for finding in {*found.traces} & {*whole.traces}:
        assert len(found.traces[finding].steps) <= len(whole.traces[finding].steps)


def _broken(report: Report) -> set[str]:
    return {code for finding in report.findings for code in (finding.code, *finding.also)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["turn", "session", "tool_call", "utterance"])
def test_shipped_flows_get_the_report_that_a_larger_graph_gives(name: str) -> None:
    flow = load_flow(name)
    cone = _the_same_everywhere if flow.kind == "turn" else _every_bit
    assert _said(flow) == _said(flow, cone)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "guard", ["conditions: output_held, unless: first_sound_ended, ", "unless: first_sound_ended, "]
)
def test_a_counterexample_is_no_longer_than_in_a_larger_graph(guard: str) -> None:
    """What does not matter need not have come back before the moves repeat."""
    old = f"      user_stopped_speaking: {{{guard}restarts: ["
    assert TURN.count(old) == 1
    flow = flow_of(TURN.replace(old, old.replace("unless: first_sound_ended, ", "")))
    report, other = _said(flow), _said(flow, _the_same_everywhere)
    assert report.findings == other.findings
    assert report.findings
    for finding, way in report.traces.items():
        assert len(way.steps) <= len(other.traces[finding].steps)


KEYS = """
flow: keys
extends: overlap
silence: [{after: 8, say: Are you still there?}, {after: 8, say: Goodbye., hang_up: true}]
monologue: {after: 20, say: Shall I go on?}
"""
ASKED = "{conditions: agenda_open, unless: [user_speaking, turn_open, turn_deferred, manual_turns]"
NO_TIMER = TURN.replace(ASKED, "{conditions: turn_open, unless: [user_speaking, manual_turns]")
ANEW = TURN.replace(
    "{unless: first_sound_ended, restarts: noise_limit}", "{restarts: noise_limit}", 1
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", [KEYS, NO_TIMER, ANEW], ids=["proved", "no timer", "anew"])
def test_turn_and_agenda_give_the_report_of_a_larger_world(text: str) -> None:
    """The longest wait at rest, or the shortest conversation that breaks a property."""
    flow = flow_of(text)
    report = explore_joint(flow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_host, "bits_that_matter", _every_bit)
        patch.setattr(agenda, "_joined", agenda._joined.__wrapped__)
        whole = explore_joint(flow)
    assert report.states < whole.states
    assert report == attrs.evolve(whole, states=report.states)
    assert text == KEYS or report.broken


def test_a_bit_matters_until_it_is_overwritten() -> None:
    """State 0 goes to state 1 and forgets bit 1; state 1 reads both bits, and goes to state 2."""
    forgets = Effect(dest=1, keeps=0b01, changes=0b10, matters=False)
    goes_on = Effect(dest=2, keeps=0b11, changes=0, matters=True)
    choices = [Choice(0, 0b100, (forgets,)), Choice(1, 0b11, (goes_on,))]
    assert bits_that_matter(choices, dict.fromkeys(range(3), 0)) == {0: 0b101, 1: 0b11, 2: 0}
