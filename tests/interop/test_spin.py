"""Spin's verdicts and ours: two provers that share no code agree, property by property."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import attrs
import pytest
from flow_text import parsed
from spin_runs import SpinError, missing_tools, verify

from turnfsm.fsm import (
    Flow,
    FlowError,
    LeadsTo,
    Never,
    Properties,
    load_flow,
    shipped_flows,
)
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.mutate import Mutant, mutants
from turnfsm.fsm.check.report import PropertyResult
from turnfsm.fsm.interop.promela import to_promela, with_turn_claims

spin = pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "installed")

SAMPLE = int(os.environ.get("TURNFSM_SPIN_MUTANTS", "4"))
"""Mutants of each shipped flow that both judge: TURNFSM_SPIN_MUTANTS=200 pytest ... for more."""

LIKELY = re.compile(r"lead to (paused|speaking|interrupted)|.*(interrupted\.settle|resume_output)")
"""Mutants that are likely to break a declared property; half of the sample is of these."""

BOX = """
flow: box
initial: open
scopes: {step: {begins: enter, ends: leave}}
events: {enter: {}, leave: {of: step}, close: {}, ring: {}, worked: {}}
facts:
  step: {inside: {set_by: enter}}
  host: {allowed}
timers: {soon: 1.0, late: 2.0}
actions: {lock: {}, work: {done: worked}}
states:
  open:
    on:
      enter: {}
      leave: {}
      close:
        - {dest: shut, conditions: [inside, allowed], actions: [work]}
        - {dest: shut, unless: [inside], actions: [lock]}
  shut:
    on: {ring: {}, worked: {dest: open}}
    after: {soon: {}, late: {dest: open}}
properties:
  never: {nobody_is_locked_in: {action: lock, when: [inside]}}
  always: {shut_means_empty: {state: shut, unless: [inside]}}
  leads_to: {it_opens: {from: shut, to: open}, it_shuts: {from: open, to: shut}}
"""


def _box(old: str = "", new: str = "") -> Flow:
    assert old in BOX
    return parsed(BOX.replace(old, new))


def _untimed(flow: Flow) -> Flow:
    """Spin knows no seconds: what is reached is compared, not when."""
    held = with_turn_claims(flow)
    leads = tuple(attrs.evolve(body, within=None) for body in held.leads_to)
    return attrs.evolve(flow, properties=attrs.evolve(held, leads_to=leads))


def _ours(flow: Flow) -> dict[str, bool]:
    report = check_flow(flow)
    assert report.complete
    return {v.name: v.result == "holds" for v in report.properties if _judged(v)}


def _agree(flow: Flow, theirs: Mapping[str, bool]) -> None:
    """Spin agrees with us. A wait it only follows once no event comes any more: for us every event
    may also come again and again, so what we prove of a wait holds for Spin, too."""
    waits = {leads.name for leads in flow.properties.leads_to}
    for name, holds in _ours(flow).items():
        assert theirs[name] if holds else (name in waits or not theirs[name]), name


def _judged(verdict: PropertyResult) -> bool:
    return verdict.origin == "declared" and verdict.result != "waived"


def _theirs(flow: Flow) -> dict[str, bool]:
    return {name: opinion.holds for name, opinion in verify(flow).items()}


QUICK = ("session", "tool_call", "utterance")
"""Shipped flows for which Spin takes a second."""


@spin
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.exhaustive)
        for name in sorted(shipped_flows())
    ],
)
def test_spin_agrees_on_shipped_flows(name: str) -> None:
    """Every declared property of a shipped flow holds for Spin as it does for us."""
    flow = _untimed(load_flow(name))
    verdicts = _theirs(flow)
    _agree(flow, verdicts)
    assert all(verdicts.values())


def test_a_first_frame_is_judged_though_the_host_knows_of_no_silence() -> None:
    """The property is claimed with `user_silent` as an exception, and without if it is no fact."""
    turn = load_flow("turn")
    facts = {name: fact for name, fact in turn.facts.items() if name != "user_silent"}
    name = "no_playout_over_the_user"
    without = attrs.evolve(turn, facts=facts)
    for flow, unless in (
        (turn, ("playout_started", "user_silent")),
        (without, ("playout_started",)),
    ):
        (claim,) = (p for p in with_turn_claims(flow).never if p.name == name)
        assert claim.unless == unless


def _sample(flow: Flow) -> list[Mutant]:
    """Mutants from all over the flow, half of them likely to break something."""
    everything = list(mutants(flow))
    likely = [mutant for mutant in everything if LIKELY.match(mutant.id)]
    half = SAMPLE // 2 if likely else 0
    return [*_spread(likely, half), *_spread(everything, SAMPLE - half)]


def _spread(found: list[Mutant], many: int) -> list[Mutant]:
    return [found[at * len(found) // many] for at in range(min(many, len(found)))]


@spin
@pytest.mark.exhaustive
def test_spin_agrees_on_mutants_of_the_turn() -> None:
    """On a sample of the mutants of the turn both find the same properties broken."""
    seen = []
    for mutant in _sample(_untimed(load_flow("turn"))):
        verdicts = _theirs(mutant.flow)
        _agree(mutant.flow, verdicts)
        seen.append(all(verdicts.values()))
    assert len(seen) == SAMPLE
    assert min(seen.count(True), seen.count(False)) >= SAMPLE // 4


ALWAYS = {"shut_means_empty", "it_shuts"}
SEEDED: dict[str, tuple[str, str, set[str]]] = {
    "as it is": ("", "", ALWAYS),
    "a guard is dropped": (
        "unless: [inside], actions: [lock]",
        "actions: [lock]",
        ALWAYS | {"nobody_is_locked_in"},
    ),
    "the host decides": (
        "unless: [inside], actions: [lock]",
        "unless: [allowed], actions: [lock]",
        ALWAYS | {"nobody_is_locked_in"},
    ),
    "the host is asked first": (
        "nobody_is_locked_in: {action: lock, when: [inside]}",
        "nobody_is_locked_in: {action: work, unless: [allowed]}",
        ALWAYS,
    ),
    "the timer goes": ("late: {dest: open}", "late: {}", ALWAYS | {"it_opens"}),
    "the timer waits for the host": (
        "late: {dest: open}",
        "late: {dest: open, conditions: [allowed]}",
        ALWAYS | {"it_opens"},
    ),
    "the scope never ends": ("{begins: enter, ends: leave}", "{begins: enter}", ALWAYS),
}


@spin
@pytest.mark.parametrize("fault", SEEDED)
def test_spin_and_the_checker_find_planted_faults(fault: str) -> None:
    """Each planted fault breaks exactly the properties that it should, for both."""
    old, new, broken = SEEDED[fault]
    flow = _box(old, new)
    verdicts = _theirs(flow)
    assert {name for name, holds in verdicts.items() if not holds} == broken
    _agree(flow, verdicts)


@spin
def test_a_trail_names_rows() -> None:
    """Spin's counterexample reads as the rows of the flow that were taken."""
    opinion = verify(_box(), trails=True)["shut_means_empty"]
    assert not opinion.holds
    assert "open.enter.0" in opinion.trail
    assert any(row.startswith("open.close.") for row in opinion.trail)
    assert opinion.states > 3


@spin
def test_properties_can_be_replaced() -> None:
    """Spin judges the properties that are handed in, and a state that is never held."""
    asked = Properties(
        never=(
            Never(state="shut", name="never_shut"),
            Never(state="open", when=("inside",), name="never_both"),
        ),
        leads_to=(LeadsTo("shut", "open", name="back"),),
    )
    held = {name: opinion.holds for name, opinion in verify(_box(), asked).items()}
    assert held == {"never_shut": False, "never_both": False, "back": True}


@spin
def test_no_verdict_is_no_proof() -> None:
    """A run that ends without a verdict, or not at all, is an error."""
    with pytest.raises(SpinError, match="took more than 1e-09 s; allow more seconds"):
        verify(_box(), seconds=1e-9)


def test_names_must_stay_apart() -> None:
    """Two names that Promela cannot tell apart are refused with both."""
    flow = _box()
    facts = {**flow.facts, "in-side": flow.facts["inside"], "in_side": flow.facts["inside"]}
    with pytest.raises(FlowError, match="'in_side' and 'in-side' become the same name in Promela"):
        to_promela(attrs.evolve(flow, facts=facts))


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Spin there is no opinion, and the message says what installs it."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        SpinError,
        match=r"spin and a C compiler \(tcc or gcc\) not found; apt-get install spin gcc",
    ):
        verify(_box())
