"""One step of a machine: what is taken, what is refused and why, what becomes of the facts."""

from __future__ import annotations

from typing import Any

import pytest
from flow_text import parsed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import flows

from turnfsm.fsm import (
    Flow,
    Machine,
    UnknownName,
    UnknownTrigger,
    Verdict,
    compile_flow,
    parse_flow,
)
from turnfsm.fsm.diagnostics import render_findings

TEXT = """
flow: small
initial: idle
scopes:
  turn: {begins: turn_begins}
  step: {begins: step_begins, ends: step_ends}
facts:
  session:
    talking: {set_by: talk, cleared_by: [hush, both]}
    kept: {set_by: turn_begins}
  turn:
    of_turn: {set_by: mark}
  step:
    of_step: {set_by: [mark, step_begins]}
  host:
    open: The door is open.
    free: {}
requests: {go, choose, both_needed}
events:
  turn_begins:
  step_begins: {of: step}
  step_ends: {of: step}
  heard: {of: step}
  talk:
  hush:
  both:
  mark:
  stay:
  again:
  end:
timers: {limit: 1.0, other: 2.0}
actions: {one: , two: }
states:
  idle:
    on:
      go: {dest: busy, conditions: [open], actions: [one, two]}
      heard: {}
      stay: {actions: [one]}
      again: {dest: idle}
      talk: {conditions: [talking]}
      choose:
        - {dest: busy, conditions: [talking]}
        - {conditions: [open], actions: [one]}
        - {actions: [two]}
      both_needed: {conditions: [open, free], unless: [talking, of_turn]}
      end: {dest: over}
    after:
      limit: {dest: busy}
      other: {conditions: [open]}
    ignores: hush
  busy:
    on:
      go: {dest: idle, unless: [open]}
  over:
    final: true
"""


def small() -> Machine:
    """A machine that has a little of everything."""
    flow = parsed(TEXT)
    return Machine(flow)


def facts(machine: Machine) -> set[str]:
    """The facts that are true."""
    return set(machine.program.names(machine.facts))


def reason(verdict: Verdict) -> tuple[str, str]:
    """Why a trigger was refused: the kind and the sentence."""
    assert not verdict
    return verdict.reason, verdict.why


def test_it_begins_in_the_initial_state_with_no_fact_true() -> None:
    """A new machine knows nothing yet."""
    machine = small()
    assert (machine.state, facts(machine), machine.final) == ("idle", set(), False)
    assert machine.timers == ("limit", "other")


def test_a_trigger_that_is_taken_moves() -> None:
    """State, actions in order, and that the state was entered."""
    machine = small()
    machine.set_host_facts({"open": True})
    verdict = machine.step("go")
    assert verdict
    assert (verdict.state, verdict.dest, verdict.entered) == ("idle", "busy", True)
    assert (verdict.actions, verdict.row) == (("one", "two"), "idle.go.0")
    assert str(verdict) == "go: idle -> busy / one, two"
    assert (machine.state, machine.timers) == ("busy", ())


def test_a_guard_refuses_and_names_the_facts() -> None:
    """What is missing and what is in the way, in the order of declaration."""
    machine = small()
    assert reason(machine.step("go")) == ("guard", "not open")
    machine.restore("idle", ["talking", "of_turn", "free"])
    assert reason(machine.step("both_needed")) == ("guard", "talking and of_turn and not open")
    assert str(machine.step("both_needed")).startswith("both_needed refused in idle: talking and")


def test_requests_are_refused_and_events_ignored() -> None:
    """A request that no transition takes is refused; an event only where the state ignores it."""
    machine = small()
    assert reason(machine.step("hush")) == ("ignores", "idle ignores it")
    assert str(machine.step("hush")) == "hush ignored in idle: idle ignores it"
    machine.restore("busy")
    assert reason(machine.step("choose")) == ("refuses", "busy refuses it")
    assert machine.step("choose").trigger == "choose"
    assert machine.step("hush")


def test_a_trigger_that_no_flow_has_is_an_error() -> None:
    """A typing error is raised, with the trigger that was meant, and changes nothing."""
    machine = small()
    for call in (machine.step, machine.ask):
        with pytest.raises(
            UnknownTrigger, match="flow 'small' has no trigger 'chose'; did you mean 'choose'\\?"
        ):
            call("chose")
    assert machine.state == "idle"


def test_alternatives_are_tried_in_order() -> None:
    """The first whose guard holds is taken, even if a later one would hold, too."""
    machine = small()
    verdict = machine.step("choose")
    assert verdict
    assert verdict.row == "idle.choose.2"
    machine.set_host_facts({"open": True})
    verdict = machine.step("choose")
    assert verdict
    assert verdict.row == "idle.choose.1"
    machine.restore("idle", ["open", "talking"])
    verdict = machine.step("choose")
    assert verdict
    assert (verdict.row, machine.state) == ("idle.choose.0", "busy")


def test_an_internal_transition_leaves_no_state() -> None:
    """An internal transition carries out its actions; the state's timers go on."""
    verdict = small().step("stay")
    assert verdict
    assert (verdict.entered, verdict.dest, verdict.actions) == (False, "idle", ("one",))


def test_the_state_itself_as_dest_is_entered_again() -> None:
    """Re-entry is told from an internal transition, so that timers start again."""
    verdict = small().step("again")
    assert verdict
    assert (verdict.entered, verdict.state, verdict.dest) == (True, "idle", "idle")


def test_a_timer_is_a_trigger() -> None:
    """It moves like any other, and a guard may refuse it."""
    machine = small()
    assert reason(machine.step("other")) == ("guard", "not open")
    assert machine.step("limit")
    assert machine.state == "busy"
    assert reason(machine.step("limit")) == ("unarmed", "busy does not have this timer")


def test_an_event_changes_facts_in_a_state_that_does_not_declare_it() -> None:
    """It has happened; no transition is taken."""
    machine = small()
    machine.restore("busy")
    verdict = machine.step("talk")
    assert verdict
    assert (verdict.row, verdict.entered, verdict.actions) == (None, False, ())
    assert facts(machine) == {"talking"}
    assert machine.step("hush")
    assert facts(machine) == set()


def test_an_event_changes_facts_where_no_guard_holds() -> None:
    """A guard decides on the transition; the event has happened all the same."""
    machine = small()
    verdict = machine.step("talk")
    assert verdict
    assert (verdict.row, verdict.actions) == (None, ())
    assert facts(machine) == {"talking"}


def test_an_ignored_event_changes_no_fact() -> None:
    """Where a state ignores it, not even facts change."""
    machine = small()
    machine.restore("idle", ["talking"])
    assert not machine.step("hush")
    assert facts(machine) == {"talking"}


def test_a_final_state_takes_nothing() -> None:
    """Not even what only changes facts."""
    machine = small()
    machine.step("end")
    assert machine.final
    reasons = {"talk": "ignores", "turn_begins": "ignores", "go": "refuses", "limit": "unarmed"}
    for trigger, expected in reasons.items():
        assert reason(machine.step(trigger))[0] == expected
    assert facts(machine) == set()


def test_guards_read_the_facts_before_the_trigger() -> None:
    """A trigger that sets a fact does not see it set."""
    machine = small()
    verdict = machine.step("talk")
    assert verdict
    assert (verdict.row, facts(machine)) == (None, {"talking"})


def test_facts_end_with_their_scope() -> None:
    """The beginning of a scope forgets its facts, and so does its end; others stay."""
    machine = small()
    for trigger in ("turn_begins", "step_begins", "mark"):
        machine.step(trigger)
    assert facts(machine) == {"kept", "of_turn", "of_step"}
    machine.step("step_ends")
    assert facts(machine) == {"kept", "of_turn"}
    machine.step("turn_begins")
    assert facts(machine) == {"kept"}


def test_facts_of_a_scope_are_cleared_before_its_trigger_sets_them() -> None:
    """A fact that the beginning of its scope sets is true after it."""
    machine = small()
    machine.restore("idle", ["of_step"])
    machine.step("step_begins")
    assert facts(machine) == {"of_step"}


def test_an_event_of_another_scope_is_stale() -> None:
    """A fenced trigger is taken for what is current, and refused for what is over."""
    machine = small()
    assert reason(machine.step("heard", 1)) == ("stale", "of step 1, while no step is current")
    assert machine.step("step_begins", 1)
    assert machine.step("heard", 1)
    assert machine.step("step_begins", 2), "the beginning of a scope is never stale"
    assert reason(machine.step("heard", 1)) == ("stale", "of step 1, while step 2 is current")
    assert machine.step("heard", 2)
    assert machine.step("step_ends", 2)
    assert reason(machine.step("heard", 2)) == ("stale", "of step 2, while no step is current")


def test_the_beginning_of_a_scope_may_be_stale_in_another() -> None:
    """A step that is of a turn which is over does not begin; one of the current turn does."""
    flow = parsed(TEXT.replace("step_begins: {of: step}", "step_begins: {of: turn}"))
    machine = Machine(flow)
    machine.step("turn_begins", 1)
    machine.step("turn_begins", 2)
    assert reason(machine.step("step_begins", 1)) == ("stale", "of turn 1, while turn 2 is current")
    assert machine.step("step_begins", 2)
    assert machine.step("heard", 2), "the step bears the name that its beginning carried"


def test_a_stale_end_ends_nothing() -> None:
    """The end of an old step leaves the facts of the current one alone."""
    machine = small()
    machine.step("step_begins", 1)
    machine.step("step_begins", 2)
    assert not machine.step("step_ends", 1)
    assert facts(machine) == {"of_step"}
    assert machine.step("heard", 2)


def test_without_a_token_the_current_scope_is_meant() -> None:
    """A fenced trigger that names nothing is about what is current."""
    machine = small()
    machine.step("step_begins", 1)
    assert machine.step("heard")


def test_a_scope_that_begins_without_a_token_ends_the_one_before() -> None:
    """Events of the step before are stale, although the new one has no name."""
    machine = small()
    machine.step("step_begins", 1)
    machine.step("step_begins")
    assert reason(machine.step("heard", 1))[0] == "stale"


def test_a_trigger_that_is_not_fenced_may_carry_anything() -> None:
    """A token of an unfenced trigger is not looked at."""
    machine = small()
    assert machine.step("stay", "any")


def test_asking_does_not_move() -> None:
    """`ask` gives the verdict of `step`; state, facts and scopes stay."""
    machine = small()
    machine.set_host_facts({"open": True})
    assert machine.ask("go")
    assert machine.ask("step_begins", 1)
    assert reason(machine.ask("heard", 1))[0] == "stale"
    assert (machine.state, facts(machine)) == ("idle", {"open"})


def test_asks_names_the_host_facts_that_a_trigger_reads() -> None:
    """A host is asked only for what decides, in the state that is held."""
    machine = small()
    assert machine.asks("both_needed") == ("open", "free")
    assert machine.asks("choose") == ("open",)
    assert machine.asks("stay") == ()
    machine.restore("busy")
    assert machine.asks("both_needed") == ()


def test_host_facts_are_set_and_cleared() -> None:
    """What the host says holds until it says otherwise."""
    machine = small()
    machine.set_host_facts({"open": True, "free": True})
    machine.set_host_facts({"open": False})
    assert facts(machine) == {"free"}
    assert machine.holds("free")
    assert not machine.holds("open")


@pytest.mark.parametrize("name", ["talking", "opne"])
def test_a_fact_that_is_not_a_host_fact_cannot_be_set(name: str) -> None:
    """A host answers for host facts only; nothing is changed by the attempt."""
    machine = small()
    with pytest.raises(UnknownName, match=f"flow 'small' has no host fact {name!r}"):
        machine.set_host_facts({"open": True, name: True})
    assert facts(machine) == set()


def test_an_unknown_fact_is_not_taken_for_the_first_one() -> None:
    """The first fact of a flow may be a host fact."""
    flow, found = parse_flow(
        "flow: f\ninitial: idle\nfacts: {host: {open}}\nrequests: {go}\n"
        "states: {idle: {on: {go: {conditions: [open]}}}}"
    )
    assert flow is not None, render_findings(found)
    with pytest.raises(UnknownName, match="no host fact 'nothing'"):
        Machine(flow).set_host_facts({"nothing": True})


SCOPED = """
flow: scoped
initial: idle
scopes: {step: {begins: step_begins, ends: step_ends}}
facts:
  session:
    loud: {set_by: wake, cleared_by: rest}
    awake: {set_by: wake, cleared_by: rest}
events: {step_begins: {of: step}, step_ends: {of: step}, wake: , rest: }
states:
  idle: {on: {wake: {}, rest: {}, step_begins: {dest: busy}}}
  busy: {on: {step_ends: {dest: idle}}, ignores: step_begins}
"""


def scoped() -> Machine:
    """A machine of one scope, and a trigger that clears two facts."""
    flow = parsed(SCOPED)
    return Machine(flow)


def test_an_ignored_trigger_begins_no_scope() -> None:
    """The step that was current stays it."""
    machine = scoped()
    assert machine.step("step_begins", 1)
    assert not machine.step("step_begins", 2)
    assert reason(machine.step("step_ends", 2))[0] == "stale"
    assert machine.step("step_ends", 1)


def test_a_trigger_clears_all_its_facts() -> None:
    """Not only the one that is declared last."""
    machine = scoped()
    machine.step("wake")
    assert facts(machine) == {"loud", "awake"}
    machine.step("rest")
    assert facts(machine) == set()


def test_a_configuration_is_restored() -> None:
    """State, facts and what is current in each scope."""
    machine = small()
    machine.step("step_begins", 1)
    machine.restore("busy", ["open", "kept"])
    assert (machine.state, facts(machine)) == ("busy", {"open", "kept"})
    assert reason(machine.step("step_ends", 1))[0] == "stale"
    machine.restore("idle", tokens={"step": 7})
    assert machine.step("heard", 7)
    assert not machine.step("heard", 1)


@pytest.mark.parametrize(
    ("state", "names", "match"),
    [
        ("idel", [], "flow 'small' has no state 'idel'; did you mean 'idle'"),
        ("busy", ["opn"], "no fact 'opn'"),
    ],
)
def test_an_unknown_configuration_is_refused(state: str, names: list[str], match: str) -> None:
    """Restoring what the flow does not have changes nothing."""
    machine = small()
    with pytest.raises(UnknownName, match=match):
        machine.restore(state, names)
    assert machine.state == "idle"
    with pytest.raises(UnknownName, match="flow 'small' has no fact 'opn'"):
        machine.holds("opn")


def test_machines_of_one_program_share_nothing_that_moves() -> None:
    """One machine's step is not seen by another's."""
    program = compile_flow(small().program.flow)
    one, other = Machine(program), Machine(program)
    one.step("limit")
    one.set_host_facts({"open": True})
    assert (other.state, facts(other)) == ("idle", set())


class Naive:
    """The same semantics, written out with sets and dicts, as slow as can be."""

    def __init__(self, flow: Flow) -> None:
        self.flow, self.state, self.facts = flow, flow.initial, set[str]()
        self.current: dict[str, Any] = {}

    def step(self, trigger: str, of: Any) -> tuple[Any, ...]:
        """Kind of answer and, if it is taken, row and actions."""
        flow, state = self.flow, self.flow.states[self.state]
        begins = [s for s, scope in flow.scopes.items() if trigger in scope.begins]
        ends = [s for s, scope in flow.scopes.items() if trigger in scope.ends]
        fence = flow.triggers[trigger].of if trigger in flow.triggers else None
        fenced = fence is not None and fence not in begins
        if of is not None and fenced and self.current.get(fence) != of:
            return ("stale",)
        rows = [r for r in flow.rows(self.state) if r.trigger == trigger]
        changes = self._changed(trigger, {*begins, *ends})
        for row in rows:
            guard = row.transition
            if self.facts >= {*guard.conditions} and not self.facts & {*guard.unless}:
                self._move(row.dest, changes, begins, ends, of)
                return ("taken", row.id, guard.actions, not row.internal)
        if trigger in flow.timers:
            return ("guard" if rows else "unarmed",)
        if flow.triggers[trigger].kind == "request":
            return ("guard" if rows else "refuses",)
        if trigger in state.ignores or state.final:
            return ("ignores",)
        self._move(self.state, changes, begins, ends, of)
        return ("taken", None, (), False)

    def _changed(self, trigger: str, over: set[str]) -> set[str]:
        facts = self.flow.facts
        left = {f for f in self.facts if facts[f].scope not in over}
        left -= {f for f in facts if trigger in facts[f].cleared_by}
        return left | {f for f in facts if trigger in facts[f].set_by}

    def _move(
        self, dest: str, changes: set[str], begins: list[str], ends: list[str], of: Any
    ) -> None:
        self.state, self.facts = dest, changes
        self.current |= dict.fromkeys(begins, of) | dict.fromkeys(ends)


@settings(
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(flows(max_states=5, max_transitions=30, properties=False), st.data())
def test_it_agrees_with_the_naive_machine(flow: Flow, data: st.DataObject) -> None:
    """Random flows, triggers, tokens and host facts: the same verdicts, states and facts."""
    machine, naive = Machine(flow), Naive(flow)
    posts = st.tuples(
        st.sampled_from([*flow.triggers, *flow.timers]),
        st.sampled_from([None, None, 1, 2]),
        st.fixed_dictionaries({f: st.booleans() for f in flow.host_facts}),
    )
    for trigger, of, told in data.draw(st.lists(posts, max_size=30)):
        machine.set_host_facts(told)
        naive.facts = naive.facts - {*told} | {f for f, true in told.items() if true}
        before = (machine.state, machine.facts)
        asked = machine.ask(trigger, of)
        assert (machine.state, machine.facts) == before
        verdict = machine.step(trigger, of)
        expected = naive.step(trigger, of)
        assert bool(asked) is bool(verdict) is (expected[0] == "taken")
        if verdict:
            assert (verdict.row, verdict.actions, verdict.entered) == expected[1:]
        else:
            assert (verdict.reason,) == expected
            assert (machine.state, machine.facts) == before
            assert verdict.why
        assert (machine.state, facts(machine)) == (naive.state, naive.facts)
