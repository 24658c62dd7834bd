"""Exploration, declared properties, quiet runs and structure, on flows of any kind."""

import pytest
from hypothesis import given, settings
from proved import codes, flow_of
from strategies import flows

from turnfsm.fsm import Flow, Machine
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.explore import explore
from turnfsm.fsm.check.parts import Bits, World
from turnfsm.fsm.check.space import StateSpace
from turnfsm.fsm.machine import Program

DOOR = """
flow: door
initial: shut
facts:
  session:
    locked: {set_by: lock, cleared_by: unlock}
requests: {open}
events: {close, lock, unlock}
timers: {swing: 5}
actions: {creak: {}}
states:
  shut:
    on:
      open: {dest: ajar, unless: [locked], actions: [creak]}
  ajar:
    on:
      close: {dest: shut}
    after:
      swing: {dest: shut}
properties:
  never:
    no_open_locked_door: {action: creak, when: [locked]}
  leads_to:
    it_swings_shut: {from: ajar, to: shut, within: swing}
"""


def test_a_right_flow_has_no_findings() -> None:
    """Four configurations, all properties hold."""
    report = check_flow(flow_of(DOOR))
    assert (report.findings, report.configurations) == ((), 4)
    assert [v.result for v in report.properties] == ["holds", "holds"]


def test_the_counterexample_is_the_shortest() -> None:
    """Lock, open: two steps, with the facts that each leaves behind, at the row that is wrong."""
    report = check_flow(flow_of(DOOR.replace(" unless: [locked],", "")))
    ((finding, trace),) = report.traces.items()
    steps = [(s.trigger, s.state, s.facts) for s in trace.steps]
    assert steps == [("lock", "shut", ("locked",)), ("open", "ajar", ("locked",))]
    assert (finding.file, finding.line, finding.column) == ("probe.yaml", 14, 7)


def test_always_and_never_of_a_state() -> None:
    """A state that is held against a property is found at the move that leads there."""
    text = DOOR.replace(
        "properties:\n",
        "properties:\n  always:\n    free: {state: ajar, unless: [locked]}\n",
    ).replace("  never:\n", "  never:\n    closed: {state: ajar, when: [locked]}\n")
    report = check_flow(flow_of(text))
    assert {"free", "closed"} <= codes(report)
    assert all(len(trace.steps) == 2 for trace in report.traces.values())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("swing: {dest: shut}", "swing: {dest: shut, unless: [locked]}", "no timer leaves ajar"),
        (
            "swing: {dest: shut}",
            "swing: {dest: ajar}",
            "swing can come again and again, and no timer ends the wait",
        ),
        ("timers: {swing: 5}", "timers: {swing: 5, blink: 1}", "more than blink"),
    ],
)
def test_a_broken_leads_to_property_says_why(old: str, new: str, why: str) -> None:
    """A guarded timer, a circle of timers and a timer that is too slow give different messages."""
    text = DOOR.replace(old, new)
    text = text.replace("within: swing", "within: blink") if "blink" in new else text
    flow = flow_of(text)
    (finding,) = (f for f in check_flow(flow).findings if f.code == "it_swings_shut")
    assert why in finding.message


def test_the_end_of_an_effect_is_not_relied_on() -> None:
    """An effect that would post the way out may hang; a timer cannot."""
    text = DOOR.replace("actions: {creak: {}}", "actions: {creak: {done: close}}")
    text = text.replace("    after:\n      swing: {dest: shut}\n", "")
    text = text.replace("timers: {swing: 5}\n", "").replace(", within: swing", "")
    assert "it_swings_shut" in codes(check_flow(flow_of(text)))


def test_the_end_of_an_effect_that_changes_nothing_takes_no_time() -> None:
    """It may come at any moment; the timer of the state goes on."""
    text = DOOR.replace("actions: {creak: {}}", "actions: {creak: {done: creaked}}")
    flow = flow_of(text.replace("events: {close,", "events: {creaked, close,"))
    (swings,) = (v for v in check_flow(flow).properties if v.name == "it_swings_shut")
    assert (swings.result, swings.detail) == ("holds", "at most 5 s (swing 5)")


def test_an_effect_that_restarts_itself_can_go_on_forever() -> None:
    """Each end of an effect may come, and the retry that it starts may end again."""
    text = DOOR.replace("actions: {creak: {}}", "actions: {creak: {done: close}}").replace(
        "      close: {dest: shut}\n", "      close: {dest: ajar, actions: [creak]}\n"
    )
    (finding,) = (f for f in check_flow(flow_of(text)).findings if f.code == "it_swings_shut")
    assert "close can come again and again, and no timer ends the wait" in finding.message


STRUCTURE = {
    "unreachable": ("      close: {dest: shut}\n", "", "  attic:\n    on: {close: {dest: shut}}\n"),
    "dead": (
        "      open: {dest: ajar, unless: [locked], actions: [creak]}\n",
        "      open:\n        - {dest: ajar, unless: [locked], actions: [creak]}\n"
        "        - {dest: shut, unless: [locked]}\n",
        "",
    ),
    "unused": ("actions: {creak: {}}", "actions: {creak: {}, groan: {}}", ""),
    "unread": (
        "  session:\n",
        "  session:\n    dusty: {set_by: lock, cleared_by: open}\n",
        "",
    ),
    "never-cleared": ("set_by: lock, cleared_by: unlock", "set_by: [lock, unlock]", ""),
    "deadlock": (", cleared_by: unlock", "", ""),
}


@pytest.mark.parametrize("code", STRUCTURE)
def test_unreachable_dead_and_unused_parts_are_found(code: str) -> None:
    """What is never reached, taken, read or said is found at its place."""
    old, new, more = STRUCTURE[code]
    text = DOOR.replace(old, new).replace("properties:\n", more + "properties:\n")
    assert code in codes(check_flow(flow_of(text)))


def test_a_dead_transition_names_what_comes_first() -> None:
    """A row behind one with the same guard is never taken, and the finding says behind which."""
    old, new, _ = STRUCTURE["dead"]
    (finding,) = (f for f in check_flow(flow_of(DOOR.replace(old, new))).findings)
    assert finding.message.endswith("shut.open.1 is never taken: shut.open.0 always comes first")


def test_a_stale_event_changes_nothing_and_a_fresh_one_needs_its_scope() -> None:
    """A fenced trigger is taken while its scope is current, and never before or after."""
    text = """
flow: fenced
initial: idle
scopes: {job: {begins: begin, ends: end}}
facts: {session: {ready: {set_by: tick, cleared_by: end}}}
events: {begin: {}, end: {of: job}, tick: {of: job}}
states:
  idle: {on: {begin: {dest: busy}}}
  busy: {on: {end: {dest: idle}}}
properties:
  always: {idle_is_not_ready: {state: idle, unless: [ready]}}
"""
    assert check_flow(flow_of(text)).ok
    report = check_flow(flow_of(text.replace("tick: {of: job}", "tick: {}")))
    assert codes(report) == {"idle_is_not_ready"}


def _counter(bits: int) -> str:
    facts = "".join(f"    f{i}: {{set_by: on{i}, cleared_by: off{i}}}\n" for i in range(bits))
    triggers = "".join(f"  on{i}: {{}}\n  off{i}: {{}}\n" for i in range(bits))
    states = "".join(
        f"  s{s}: {{on: {{go: {{dest: s{(s + 1) % 6}, conditions: [f{2 * s}, f{2 * s + 1}]}}}}}}\n"
        for s in range(6)
    )
    return (
        f"flow: big\ninitial: s0\nevents:\n  go: {{}}\n{triggers}"
        f"facts:\n  session:\n{facts}states:\n{states}"
    )


def test_twelve_free_facts_are_all_explored() -> None:
    """Six states and twelve facts: 24,576 configurations."""
    assert check_flow(flow_of(_counter(12))).configurations == 6 * 2**12


def test_a_flow_that_is_too_large_is_not_reported_as_proved() -> None:
    """Past the limit the report says how far the proof came; no property is proved."""
    text = _counter(12) + "properties: {never: {nothing: {state: s5, when: f0}}}\n"
    report = check_flow(flow_of(text), limit=100)
    assert codes(report) == {"not-proved"}
    assert not report.complete
    assert not report.ok
    assert [v.result for v in report.properties] == ["open"]
    assert "configurations were visited and there are more" in report.findings[0].message


def _configurations(flow: Flow) -> set[tuple[str, frozenset[str]]]:
    """Every state and facts that a Machine reaches, found the slow way."""
    own = [name for name in flow.facts if name not in flow.host_facts]
    start: tuple[str, frozenset[str], frozenset[str]] = (flow.initial, frozenset(), frozenset())
    seen, queue = {start}, [start]
    machine = Machine(flow)
    answers: list[dict[str, bool]] = [{}]
    for fact in flow.host_facts:
        answers = [{**a, fact: value} for a in answers for value in (False, True)]
    for state, facts, scopes in queue:
        for trigger in (*flow.triggers, *flow.states[state].after):
            fence = flow.triggers[trigger].of if trigger in flow.triggers else None
            begins = {n for n, scope in flow.scopes.items() if trigger in scope.begins}
            if fence is not None and fence not in begins | scopes:
                continue
            for answer in answers:
                machine.restore(state, facts, dict.fromkeys(scopes, "now"))
                machine.set_host_facts(answer)
                machine.step(trigger, None if trigger in flow.timers else "now")
                held = frozenset(name for name in own if machine.holds(name))
                after = (machine.state, held, frozenset(machine.tokens or ()))
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
    return {(state, facts) for state, facts, _ in seen}


@settings(derandomize=True)
@given(flows(max_states=4, max_transitions=14, properties=False))
def test_the_explorer_visits_what_machines_reach(flow: Flow) -> None:
    """On random flows it reaches what a real Machine reaches, and nothing else."""
    if len(flow.host_facts) > 2:
        return
    program = Program(flow)
    bits = Bits(program, World())
    model = StateSpace(program, World(), bits, ())
    model.relevant = (1 << len(bits.facts)) - 1 & ~bits.host_facts
    found = explore(model, 100_000)
    ours = {(model.state(n), frozenset(program.names(n & model.relevant))) for n in found.links}
    assert ours == _configurations(flow)


@settings(derandomize=True)
@given(flows(max_states=6, max_transitions=20))
def test_any_flow_gets_a_report_whose_traces_replay(flow: Flow) -> None:
    """No random flow makes the proof fail by itself, and its counterexamples are real."""
    report = check_flow(flow, limit=20_000)
    for trace in report.traces.values():
        machine = Machine(flow)
        for entry in trace.entries():
            machine.set_host_facts(entry["host_facts"])
            machine.step(entry["trigger"], entry["of"])
            assert machine.state == entry["state"]


def _asking(count: int, where: str) -> str:
    facts = [f"g{i}" for i in range(count)]
    declared = ", ".join(facts)
    guard = f"{{dest: b, conditions: [{', '.join(facts)}]}}"
    return (
        f"flow: asks\ninitial: a\nevents: {{go}}\nfacts: {{host: {{{declared}}}}}\n"
        + ("timers: {late: 1}\n" if where == "after: {late" else "")
        + f"states:\n  a: {{{where}: {guard}}}}}\n  b: {{on: {{go: {{dest: a}}}}}}\n"
        + "properties: {never: {nothing: {state: b, when: g0}}}\n"
    )


@pytest.mark.parametrize("where", ["on: {go", "after: {late"])
def test_a_decision_on_too_many_host_facts_is_not_reported_as_proved(where: str) -> None:
    """Every answer of the host is followed, up to a stated number of facts, and no further."""
    report = check_flow(flow_of(_asking(30, where)))
    assert "not-proved" in codes(report)
    assert "30 host facts" in report.findings[-1].message
    assert not report.complete
    assert [v.result for v in report.properties] == ["open"]
    assert check_flow(flow_of(_asking(12, where))).complete


def test_a_long_chain_of_timers_needs_no_stack() -> None:
    """600 states that timers lead through one after the other: 600 s at most."""
    states = "".join(f"  s{i}: {{after: {{t: {{dest: s{i + 1}}}}}}}\n" for i in range(600))
    text = (
        f"flow: chain\ninitial: s0\ntimers: {{t: 1}}\nstates:\n{states}  s600: {{final: true}}\n"
        "properties: {leads_to: {ends: {from: s0, to: s600}}}\n"
    )
    (verdict,) = check_flow(flow_of(text)).properties
    assert verdict.result == "holds"
    assert verdict.detail.startswith("at most 600 s")


FENCED = """
flow: nested
initial: idle
scopes:
  turn: {begins: turn_begins}
  step: {begins: step_begins}
facts: {step: {ready: {set_by: heard}}}
events:
  turn_begins: {}
  step_begins: {of: turn}
  heard: {of: step}
actions: {answer: {}}
states:
  idle: {on: {turn_begins: {}, heard: [{conditions: [ready], actions: [answer]}, {}]}}
properties:
  never: {never_answered: {action: answer}}
"""


def test_a_scope_that_begins_under_the_name_of_another() -> None:
    """Its counterexample names turns and steps so that a machine answers as it says."""
    flow = flow_of(FENCED)
    (proof,) = check_flow(flow).traces.values()
    machine = Machine(flow)
    for entry in proof.entries():
        assert bool(machine.step(entry["trigger"], entry["of"])) == entry["taken"]
    assert [entry["of"] for entry in proof.entries()] == ["turn 1"] * 4


SETS = {
    "a timer": ("soon", "{here: {after: {soon: {GUARD}}}}", ""),
    "the end of a text": (
        "heard",
        "{here: {after: {soon: {GUARD actions: tell}}}}",
        ", events: {heard: Heard.}, actions: {tell: {say: Hello., done: heard}}",
    ),
}


@pytest.mark.parametrize(("guard", "warned"), [("unless: told,", False), ("", True)])
@pytest.mark.parametrize("sets", SETS)
def test_a_fact_that_lets_something_happen_once_need_not_be_cleared(
    sets: str, guard: str, warned: bool
) -> None:
    """What sets it happens only before."""
    by, states, more = SETS[sets]
    text = (
        "{flow: once, initial: here, timers: {soon: 1.0}, facts: {session: {told: {set_by: "
        f"{by}}}}}}}, states: {states.replace('GUARD', guard)}{more}}}"
    )
    assert ("never-cleared" in codes(check_flow(flow_of(text)))) is warned
