"""A state that a variant adds: few findings, each at its own line, with the line to add."""

import pytest
from flow_text import parsed
from proved import codes

from turnfsm.fsm import parse_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import Report

HEAD = """\
flow: mine
extends: turn
requests: {consult: May the supervisor be asked now?}
events: {advice: The supervisor has answered.}
timers: {consult_limit: 30.0}
actions:
  ring: {is: Ring the supervisor., owner: state, done: advice}
states:
  listening:
    on: {consult: {dest: consulting, actions: ring}}
  consulting:
    is: A supervisor is being asked.
    on:
      advice: {dest: listening}
"""
TURN_COMMITTED = "      turn_committed: {dest: listening, actions: answer_turn}\n"
TOOL_STARTED = "      tool_started: {dest: tool_running}\n"
AFTER = "    after: {consult_limit: {dest: listening}}\n"


def proved(more: str) -> Report:
    """The proof of the variant with more lines in its new state."""
    text = HEAD if "after" in more else HEAD.replace("timers: {consult_limit: 30.0}\n", "")
    flow = parsed(text + more, "mine.yaml")
    return check_flow(flow)


def test_a_new_state_needs_no_change_elsewhere() -> None:
    """What it must declare itself: turns, calls, and a timer."""
    assert proved(TURN_COMMITTED + TOOL_STARTED + AFTER).findings == ()


def test_every_finding_is_in_the_file_that_adds_the_state() -> None:
    """Three causes, three findings; none in turn.yaml."""
    found = proved("").findings
    assert {finding.file for finding in found} == {"mine.yaml"}
    assert len(found) == 3


def test_findings_say_what_to_add() -> None:
    """The line as another state of the base has it."""
    (committed,) = proved(TOOL_STARTED + AFTER).findings
    assert committed.remedy == (
        f"add '{TURN_COMMITTED.strip()}' to 'on' of 'consulting', or 'refuses: turn_committed'"
    )
    (started,) = proved(TURN_COMMITTED + AFTER).findings
    assert started.remedy.startswith(f"add '{TOOL_STARTED.strip()}' to 'on' of 'consulting'")


def test_one_cause_is_one_finding() -> None:
    """A state that no timer leaves breaks two properties; there is one finding."""
    report = proved(TURN_COMMITTED + TOOL_STARTED)
    (finding,) = report.findings
    assert finding.message.startswith("no_dead_floor, every_turn_is_accounted_for: ")
    assert finding.remedy == "add 'after: {TIMER: {dest: listening}}' to 'consulting'"
    assert {v.name for v in report.properties if v.result == "fails"} == {
        "no_dead_floor",
        "every_turn_is_accounted_for",
    }


@pytest.mark.exhaustive
def test_one_wrong_line_in_a_group_is_one_finding() -> None:
    """It changes every state, and breaks eight properties; the report has the shortest example."""
    line = "      final_transcript: {dest: listening}\n"
    flow, _ = parse_flow(
        f"flow: mine\nextends: turn\ngroups:\n  all:\n    on:\n{line}", "mine.yaml"
    )
    assert flow is not None
    report = check_flow(flow)
    (finding,) = report.findings
    assert finding.place == "mine.yaml:6:7"
    assert len(report.traces[finding].steps) == 2
    failed = {v.name for v in report.properties if v.result == "fails"}
    assert {finding.code, *finding.also} == failed
    assert len(failed) > 5
    assert f"(the same cause breaks {finding.also[0]}, " in finding.render()


@pytest.mark.exhaustive
def test_a_new_state_may_refuse_turns() -> None:
    """`refuses` is enough: the turn is kept meanwhile."""
    text = TOOL_STARTED + AFTER + "    refuses: turn_committed\n"
    assert codes(proved(text)) == set()


def test_a_guarded_timer_is_named_with_the_fact_that_holds_it_back() -> None:
    """The state has a timer that leaves it, and its guard need not hold."""
    guarded = "    after: {consult_limit: {dest: listening, unless: user_speaking}}\n"
    (finding,) = proved(TURN_COMMITTED + TOOL_STARTED + guarded).findings
    assert "no timer leaves consulting: consult_limit is refused (user_speaking)" in finding.message
    assert (
        finding.remedy
        == "add a transition that needs no fact to 'consult_limit': '{dest: listening}'"
    )


def test_a_state_that_is_entered_again_by_a_voice_has_a_remedy() -> None:
    """Whatever the state is called, its timers are not to start again each time."""
    again = TURN_COMMITTED + "      user_stopped_speaking: {dest: consulting}\n"
    (finding,) = proved(again + TOOL_STARTED + AFTER).findings
    assert finding.code == "no_dead_floor"
    assert finding.remedy.startswith("leave 'dest' out: the timers go on; or name a timer")
    restarts = again.replace("{dest: consulting}", "{restarts: consult_limit}")
    (finding,) = proved(restarts + TOOL_STARTED + AFTER).findings
    assert finding.remedy.startswith("let only the first user_stopped_speaking restart it")
    mended = again.replace("{dest: consulting}", "{}") + TOOL_STARTED + AFTER
    assert codes(proved(mended)) <= {"unread"}
