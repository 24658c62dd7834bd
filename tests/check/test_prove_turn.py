"""The shipped turn is proved; each of the ten properties is lost with the line that makes it."""

import pytest
from proved import TURN, codes, flow_of, shipped, turn_with

from turnfsm.fsm import Machine
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import Report
from turnfsm.fsm.check.turn import PROPERTIES
from turnfsm.fsm.load.loader import shipped_flows


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted(shipped_flows()))
def test_a_shipped_flow_is_proved(name: str) -> None:
    """Whole, without a finding, and every one of its properties holds."""
    report = shipped(name)
    assert report.ok
    assert report.findings == ()
    assert report.complete
    assert {verdict.result for verdict in report.properties} <= {"holds", "waived"}


def test_a_turn_is_checked_for_all_ten_properties() -> None:
    """The report has a verdict on each of them."""
    named = {verdict.name for verdict in shipped("turn").properties if verdict.origin == "turn"}
    assert named == set(PROPERTIES)
    assert len(named) == 10


FAULTS = {
    "no_speculation_while_a_tool_runs": (
        "unless: [tools_running, result_uncommitted, message_pending, effect_pending]",
        "unless: [result_uncommitted, message_pending, effect_pending]",
    ),
    "no_resume_of_a_silent_step": (
        "      playout_finished: {dest: thinking, actions: release_output}\n",
        "",
    ),
    "no_request_before_the_results": (
        "unless: [tools_running, result_uncommitted, message_pending, effect_pending]",
        "unless: [tools_running, message_pending]",
    ),
    "every_call_ends_once": (
        "{dest: listening, actions: [release_tools, drop_audio, release_output]}",
        "{dest: listening, actions: [release_output]}",
    ),
    "an_interruption_settles": (
        "        - {dest: listening, actions: [abandon_step",
        "        - {dest: listening, conditions: [pausable], actions: [abandon_step",
    ),
    "no_dead_floor": (
        "      speaking_limit: {dest: interrupted,",
        "      speaking_limit: {dest: interrupted, conditions: [interruptible],",
    ),
    "one_reply_to_a_turn": (
        "answer_pending, turn_open, turn_deferred]",
        "answer_pending, turn_deferred]",
    ),
    "every_turn_is_accounted_for": (
        "      turn_overdue: {conditions: turn_open, actions:",
        "      turn_overdue: {conditions: [turn_open, pausable], actions:",
    ),
    "no_playout_over_the_user": (
        "unless: user_silent, actions: hold_output}",
        "unless: user_silent, actions: start_output}",
    ),
    "the_agent_state_is_true": ("playout_started: {of: step, is:", "playout_started: {is:"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PROPERTIES)
def test_a_fault_breaks_the_property_that_forbids_it(name: str) -> None:
    """It is found under that property's name. Every counterexample, replayed on a Machine, gives
    the same answers and actions."""
    report = turn_with(*FAULTS[name])
    assert name in codes(report)
    assert not report.ok
    assert report.traces
    for trace in report.traces.values():
        assert trace.flow is not None
        relevant = set(trace.flow.facts) - set(trace.flow.host_facts)
        machine = Machine(trace.flow)
        for entry in trace.entries():
            machine.set_host_facts(entry["host_facts"])
            verdict = machine.step(entry["trigger"], entry["of"])
            assert bool(verdict) == entry["taken"], entry
            assert machine.state == entry["state"], entry
            held = {name for name in relevant if machine.holds(name)}
            assert set(entry["facts"]) <= held, entry
            assert list(getattr(verdict, "actions", ())) == entry["actions"], entry


def test_a_fact_that_outlives_its_step_is_found() -> None:
    """A playout that was heard in an earlier step does not belong to this one."""
    report = turn_with(
        "  step:\n    step_running: {set_by: step_started}\n    playout_started: {set",
        "    playout_started: {set_by: playout_started}\n"
        "  step:\n    step_running: {set_by: step_started}\n    heard_before: {set",
    )
    assert "the fact playout_started is true although it is not so" in " ".join(
        finding.message for finding in report.findings
    )


def test_an_unknown_waiver_is_a_finding() -> None:
    """A name that is none of the ten is answered with the near one."""
    report = turn_with("\nproperties:\n", "\nproperties:\n  waived: {no_dead_flor: x}\n")
    (finding,) = (f for f in report.findings if f.code == "waived")
    assert finding.remedy == "did you mean 'no_dead_floor'?"


def test_a_waived_property_is_not_checked_and_its_reason_is_repeated() -> None:
    """The fault is then no finding, and the report says why."""
    old, new = FAULTS["no_dead_floor"]
    text = TURN.replace(old, new).replace(
        "\nproperties:\n",
        "\nproperties:\n  waived: {no_dead_floor: A kiosk never stops.}\n",
    )
    report = check_flow(flow_of(text))
    verdicts = {v.name: v for v in report.properties if v.origin == "turn"}
    assert verdicts["no_dead_floor"].result == "waived"
    assert verdicts["no_dead_floor"].detail == "A kiosk never stops."
    assert "no_dead_floor" not in codes(report)


def test_names_that_a_turn_lacks_are_listed() -> None:
    """A flow of kind turn that lacks the vocabulary is told which words."""
    text = (
        "flow: bare\nkind: turn\ninitial: listening\nevents: {go}\n"
        "states: {listening: {on: {go: {dest: listening}}}}\n"
    )
    messages = [f.message for f in check_flow(flow_of(text)).findings if f.code == "vocabulary"]
    # no_dead_floor needs no more than the state listening.
    assert len(messages) == len(PROPERTIES) - 1
    assert any("no trigger 'tool_started', no trigger 'tools_drained'" in m for m in messages)


def test_a_turn_begins_in_listening() -> None:
    """Any other beginning is a finding."""
    assert "vocabulary" in codes(turn_with("initial: listening", "initial: thinking"))


def test_the_worst_case_is_a_sum_of_timers() -> None:
    """With limits, an open turn is dropped no later than the timers on the longest way take."""
    flow = flow_of("{flow: mine, extends: turn, limits: brisk}")
    details = {v.name: v.detail for v in check_flow(flow).properties if v.origin == "turn"}
    ways = ("speaking_limit", "pause_limit", "settle", "tool_limit", "tool_limit", "turn_overdue")
    total = sum(flow.timers[name] for name in ways)
    assert f"; at most {total:g} s (" in details["every_turn_is_accounted_for"]
    assert details["an_interruption_settles"] == "at most 0.5 s (settle 0.5)"


def test_without_limits_a_wait_is_reported_within_the_seconds_that_the_proof_says() -> None:
    """The floor is not certain to be free: the report says after how long somebody is told, and
    which limit would end the wait."""
    details = {v.name: v.detail for v in shipped("turn").properties if v.origin == "turn"}
    assert details["no_dead_floor"].startswith("reported after at most 20.5 s (report_after 5 + ")
    assert "ends by itself only if limits are set (speaking_limit" in details["no_dead_floor"]


UNREPORTED = ("thinking", "tool_running", "speaking", "paused")


def _unreported(*states: str, more: str = "") -> Report:
    body = ", ".join(f"{state}: {{after: {{report_after: null}}}}" for state in states)
    return check_flow(flow_of(f"flow: mine\nextends: turn\nstates: {{{body}}}\n{more}"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("state", UNREPORTED)
def test_a_wait_that_nobody_reports_needs_a_limit(state: str) -> None:
    """A limit that is `never` ends nothing. (What is paused goes on, and is reported then, but for
    a voice that never ends.)"""
    found = _unreported(state)
    assert not found.ok
    assert {f.code for f in found.findings} <= {"no_dead_floor", "every_turn_is_accounted_for"}


@pytest.mark.exhaustive
def test_limits_end_the_waits_that_nobody_reports() -> None:
    found = _unreported(*UNREPORTED, more="limits: brisk\n")
    assert found.ok, found.findings


@pytest.mark.parametrize(
    ("state", "row"),
    [
        ("thinking", "{dest: thinking, actions: report_wait}"),
        ("listening", "{actions: report_wait}"),
    ],
    ids=["leaves", "the flow waits for nothing"],
)
def test_a_report_is_true_and_leaves_no_state(state: str, row: str) -> None:
    """A timer that starts the others again would hide a limit."""
    text = f"flow: mine\nextends: turn\nstates: {{{state}: {{after: {{report_after: {row}}}}}}}\n"
    findings = check_flow(flow_of(text)).findings
    assert "no_dead_floor" in {f.code for f in findings}


def test_a_step_that_begins_and_is_ignored_is_found() -> None:
    """A machine that ignores it would take the events of the new step for those of the old."""
    text = TURN.replace(
        "      step_started: {dest: thinking, actions: [release_tools, release_output]}\n", ""
    )
    report = check_flow(
        flow_of(
            text.replace("    refuses: [reply", "    ignores: step_started\n    refuses: [reply")
        )
    )
    assert "the_agent_state_is_true" in codes(report)


def test_speech_that_is_cut_must_go_on_after_a_false_interruption() -> None:
    """Without its timers it would be cut for good by the limit of a pause."""
    resumes = "actions: [resume_output, report_false_interruption]}\n"
    text = TURN.replace(
        "      false_interruption: {dest: speaking, unless: [user_speaking, endpointing], "
        + resumes,
        "",
    )
    text = text.replace("      noise_limit: {dest: speaking, unless: user_speaking, " + resumes, "")
    waits = "{unless: first_sound_ended, restarts: [false_interruption, noise_limit]}"
    report = check_flow(flow_of(text.replace(waits, "{}")))
    (message,) = [f.message for f in report.findings if f.severity == "error"]
    assert message.startswith("no_dead_floor: from paused")
    assert "the paused audio goes on" in message


def test_an_interrupted_speech_settles_within_five_seconds() -> None:
    """The timer of the flow bounds it, and may not be any length."""
    report = turn_with("settle: 0.5,", "settle: 60.0,")
    (message,) = [f.message for f in report.findings if f.severity == "error"]
    assert message.endswith("it takes 60 s (settle 60), more than 5 s")


def test_what_is_checked_after_an_error_is_mended_names_the_error() -> None:
    """Turn and agenda are explored together when nothing else is wrong."""
    report = check_flow(
        flow_of("flow: mine\nextends: turn\nstates:\n  speaking:\n    refuses: barge_in\n")
    )
    [error] = report.findings
    place = f"{error.file}:{error.line}:{error.column}"
    [rest] = [one for one in report.properties if one.name == "nothing_open_waits_at_rest"]
    assert (rest.result, rest.detail) == ("open", f"checked once {place} is mended: unreachable")
