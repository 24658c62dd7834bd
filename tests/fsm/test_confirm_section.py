"""`tools: confirm`: how it is read, and that no tool runs without a yes."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest
from flow_text import parsed

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.confirm import Confirm
from turnfsm.fsm.flow import Transition

HEAD = "flow: bank\nextends: turn\n"
ASKS = 'say: "Shall I transfer {amount} euros?"'


def flow_of(confirm: str, more: str = "") -> Flow:
    return parsed(f"{HEAD}{more}tools:\n  confirm:\n    transfer: {confirm}\n")


def test_it_is_short_for_a_state_with_a_timer_and_two_requests() -> None:
    flow = flow_of(f"{{{ASKS}}}", "timers: {confirm_wait: 20}\n")
    assert flow.timers["confirm_wait"] == 20.0
    (ask,) = flow.states["tool_running"].on["question_due"]
    assert (ask.dest, ask.actions) == ("confirming", ("ask_for_yes",))
    waiting = flow.states["confirming"]
    assert waiting.on["yes_said"] == (
        Transition(
            dest="tool_running",
            conditions=("agreed", "question_heard"),
            unless=("turn_deferred",),
            actions=("run_confirmed",),
        ),
    )
    assert waiting.agent_state == "listening"
    assert waiting.after["confirm_wait"][0].actions == ("refuse_unconfirmed",)
    assert tuple(flow.named_tools) == ("transfer",)


def test_every_turn_that_is_answered_ends_the_question() -> None:
    flow = flow_of(f"{{{ASKS}, otherwise: Nothing was done.}}")
    answered = [row for row in flow.rows() if "answer_turn" in row.transition.actions]
    assert len(answered) > 5
    assert all("end_questions" in row.transition.actions for row in answered)
    over = flow.states["confirming"].after["confirm_wait"][0]
    assert over.actions == ("refuse_unconfirmed", "say_unconfirmed")


def test_while_the_user_was_asked_the_floor_is_theirs_after_every_step() -> None:
    flow = flow_of(f"{{{ASKS}}}")
    for state in {*flow.states} - {"confirming", "tool_running"}:
        rows = [row.transition for row in flow.rows(state)]
        for before, row in pairwise(rows):
            if row.dest == "tool_running":
                assert before.dest == "confirming"
                assert before.conditions == (*row.conditions, "question_asked")


def test_each_transition_keeps_its_line() -> None:
    base, flow = load_flow("turn"), flow_of(f"{{{ASKS}}}")

    def lines(one: Flow, state: str, trigger: str) -> list[tuple[str | None, int]]:
        rows = [row for row in one.rows(state) if row.trigger == trigger]
        return [(row.transition.dest, one.source.key(row.path).line) for row in rows]

    for state, trigger in (("speaking", "step_finished"), ("interrupted", "settle")):
        before = lines(base, state, trigger)
        assert before[0][0] == "tool_running"
        asked = ("confirming", before[0][1])
        assert lines(flow, state, trigger) == [asked, *before]


@pytest.mark.exhaustive
def test_a_limit_of_tools_does_not_end_the_wait_for_the_user() -> None:
    flow = flow_of(f"{{{ASKS}}}", "limits: brisk\ntimers: {confirm_wait: 20}\n")
    assert flow.timers["tool_limit"] == 10.0
    assert "tool_limit" not in flow.states["confirming"].after
    assert flow.timers["confirm_limit"] == 40.0
    assert check_flow(flow).ok


def test_what_the_file_says_of_the_state_is_not_overwritten() -> None:
    own = "states: {confirming: {agent_state: thinking, tuning: {min_duration: 1.0}}}\n"
    state = flow_of(f"{{{ASKS}}}", own).states["confirming"]
    assert state.agent_state == "thinking"
    assert state.tuning.min_duration == 1.0
    assert "yes_said" in state.on


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "more", ["", "fillers: {after: 1.0, say: One moment.}\nsilence: {after: 8, say: Hello?}\n"]
)
def test_it_is_proved(more: str) -> None:
    report = check_flow(flow_of(f"{{{ASKS}, otherwise: Nothing was done.}}", more))
    assert report.ok, report.findings
    assert report.notes == ()


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "base",
    ["push_to_talk", "overlap", "half_duplex", "uninterruptible", "speech_to_speech", "duplex"],
)
def test_it_is_proved_for_every_shipped_turn(base: str) -> None:
    text = f"flow: m\nextends: {base}\nhold: {{then: Are you back?}}\n"
    flow = parsed(f"{text}tools: {{confirm: {{transfer: {{{ASKS}}}}}}}\n")
    assert check_flow(flow).ok


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("trigger", "guard", "property"),
    [
        ("yes_said", "agreed", "no_effect_without_a_yes"),
        ("yes_said", "question_heard", "no_effect_before_the_question"),
        ("question_due", "user_speaking", "no_question_over_the_user"),
        ("question_due", "question_asked", "no_question_is_asked_twice"),
    ],
)
def test_the_proof_fails_without_a_guard(trigger: str, guard: str, property: str) -> None:
    flow = flow_of(f"{{{ASKS}}}")
    state = flow.states["confirming"]
    (row,) = state.on[trigger]
    without = attrs.evolve(
        row,
        conditions=tuple(fact for fact in row.conditions if fact != guard),
        unless=tuple(fact for fact in row.unless if fact != guard),
    )
    assert without != row
    changed = attrs.evolve(state, on={**state.on, trigger: (without,)})
    report = check_flow(attrs.evolve(flow, states={**flow.states, "confirming": changed}))
    assert property in {finding.code for finding in report.findings}


def test_a_call_that_runs_at_once_breaks_the_proof_of_a_call() -> None:
    flow = load_flow("tool_call")
    called = flow.states["called"]
    on = {**called.on, "started": called.on["started"][2:]}
    states = {**flow.states, "called": attrs.evolve(called, on=on)}
    report = check_flow(attrs.evolve(flow, states=states))
    assert "no_tool_runs_before_the_yes" in {finding.code for finding in report.findings}


@pytest.mark.parametrize("words", ["mhm", "Uh-huh.", "mm-hm, thank you"])
def test_a_sign_of_listening_is_no_yes_unless_the_section_says_so(words: str) -> None:
    assert not Confirm(("Shall I?",)).agrees(words)
    assert Confirm(("Shall I?",), yes=("mhm", "uh-huh", "mm-hm")).agrees(words)
