"""What a flow of kind `turn` may set for what runs beside it: the flow `outages`, and tools."""

from __future__ import annotations

from turnfsm import load_flow, parse_flow
from turnfsm.fsm.flow import NEVER, OUTAGE_TIMERS


def test_they_are_those_of_the_shipped_flow() -> None:
    assert {*load_flow("outages").timers} == {*OUTAGE_TIMERS}


def test_a_flow_that_extends_turn_sets_them_without_a_state_that_has_them() -> None:
    text = "{flow: mine, extends: turn, timers: {audio_limit: 8.0, transcript_limit: never}}"
    flow, findings = parse_flow(text)
    assert flow is not None
    assert not findings
    assert flow.timers["audio_limit"] == 8.0


def test_another_flow_does_not() -> None:
    text = "{flow: door, initial: shut, timers: {audio_limit: 8.0}, states: {shut: {}}}"
    _, (finding,) = parse_flow(text)
    assert finding.message == "timer 'audio_limit' is used by no state"


def test_a_tool_waits_for_an_objection_for_some_seconds_or_without_a_limit() -> None:
    flow, _ = parse_flow("{flow: mine, extends: turn, tools: {objection_limit: never}}")
    assert flow is not None
    assert flow.tools.objection_limit == NEVER
    _, (finding,) = parse_flow("{flow: mine, extends: turn, tools: {objection_limit: 0}}")
    assert finding.message == "timer 'objection_limit' takes 0 s"
