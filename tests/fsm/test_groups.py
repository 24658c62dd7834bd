"""Groups of states: what several states have in common is said once."""

from typing import Any

import pytest
from flow_text import parsed

from turnfsm.fsm import Flow, Machine

CALL = """
flow: call
initial: ringing
requests: {hold, end}
events: {answered, hung_up, beep}
timers: {limit: 5.0}
actions: {note, cut}
groups:
  all:
    on: {hung_up: {dest: over}, end: {dest: over, actions: cut}}
    ignores: beep
  live:
    is: Somebody is there.
    on: {end: {dest: over}, hold: {actions: note}}
    after: {limit: {dest: over}}
states:
  ringing: {on: {answered: {dest: talking}}}
  talking: {in: live, on: {beep: {actions: note}}}
  held: {in: live, refuses: hold, after: {limit: {dest: talking}}}
  over: {final: true}
"""


def flow_of(text: str = CALL) -> Flow:
    """The flow of a text without findings."""
    return parsed(text, "mine.yaml" if "extends" in text else "call.yaml")


def dests(flow: Flow, state: str) -> dict[str, Any]:
    """Trigger or timer to where its first row leads."""
    return {row.trigger: row.transition.dest for row in flow.rows(state)}


def test_every_state_but_final_ones_is_in_all() -> None:
    """`all` needs no word in the state."""
    flow = flow_of()
    assert dests(flow, "ringing") == {"answered": "talking", "hung_up": "over", "end": "over"}
    assert flow.states["ringing"].ignores == ("beep",)
    assert dests(flow, "over") == {}


def test_a_later_group_comes_before_all() -> None:
    """`live` ends a call without cutting it."""
    flow = flow_of()
    assert flow.states["ringing"].on["end"][0].actions == ("cut",)
    assert flow.states["talking"].on["end"][0].actions == ()


def test_the_words_of_a_state_come_first() -> None:
    """Its transitions, refusals and timers replace those of its groups."""
    flow = flow_of()
    assert flow.states["talking"].on["beep"][0].actions == ("note",)
    assert flow.states["talking"].ignores == ()
    assert "hold" not in flow.states["held"].on
    assert flow.refused_in("held") == ("hold",)
    assert dests(flow, "held")["limit"] == "talking"
    assert dests(flow, "talking")["limit"] == "over"


def test_a_machine_runs_what_groups_say() -> None:
    """An ignored event changes nothing, a request that is not taken is refused."""
    machine = Machine(flow_of())
    assert not machine.step("beep")
    assert not machine.step("hold")
    assert machine.step("answered")
    assert machine.step("hold").actions == ("note",)
    assert machine.step("hung_up").dest == "over"


def test_findings_stand_at_the_line_of_the_group() -> None:
    """A row of a group is found where it is written, from every state."""
    source = flow_of().source
    assert source is not None
    places = {source.place(("states", s, "on", "hung_up", 0)) for s in ("ringing", "held")}
    assert places == {"call.yaml:10:10"}
    assert source.place(("facts", "none")) == source.place(("facts",))


VARIANT = "flow: mine\nextends: call.yaml\n"


@pytest.fixture(autouse=True)
def base(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the base."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "call.yaml").write_text(CALL, encoding="utf-8")


def test_a_variant_changes_a_group() -> None:
    """All states of the group change with it."""
    flow = flow_of(VARIANT + "groups: {live: {on: {hold: {dest: held}}}}\n")
    assert flow.states["talking"].on["hold"][0].dest == "held"
    flow = flow_of(VARIANT + "groups: {live: {after: {limit: null}}}\n")
    assert [name for name, state in flow.states.items() if state.after] == ["held"]


def test_a_variant_refuses_in_one_state_what_a_group_takes() -> None:
    """The others still take it; the line that took the way away is known."""
    flow = flow_of(VARIANT + "states:\n  talking:\n    refuses: end\n")
    assert flow.refused_in("talking") == ("end",)
    assert "end" in flow.states["held"].on
    assert flow.source is not None
    assert str(flow.source.removed_to["over"]) == "mine.yaml:5:14"


def test_a_new_state_is_one_place_to_write() -> None:
    """It has what `all` says, and needs no other word."""
    text = VARIANT + "states:\n  busy: {on: {answered: {dest: talking}}}\n"
    flow = flow_of(text + "  ringing: {on: {hold: {dest: busy}}}\n")
    assert dests(flow, "busy") == {"answered": "talking", "hung_up": "over", "end": "over"}
