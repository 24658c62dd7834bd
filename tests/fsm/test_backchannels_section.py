"""The section `backchannels`: how it is read, and what is proved."""

from __future__ import annotations

import pytest
from flow_text import parsed

from turnfsm.fsm import Flow, parse_flow
from turnfsm.fsm.check.check import check_flow

HEAD = "flow: mine\nextends: turn\n"
WRITTEN = "backchannels: {say: [Mhm., I see.], after: 4}\n"
PROVED = (
    "no_backchannel_during_a_step",
    "no_backchannel_outside_a_pause",
    "no_backchannel_to_a_user_who_has_finished",
    "no_backchannel_instead_of_an_answer",
)


def flow_of(text: str = WRITTEN) -> Flow:
    return parsed(HEAD + text, "mine.yaml")


def said(text: str) -> list[str]:
    """Each finding, with its place and its remedy."""
    findings = parse_flow(HEAD + text, "mine.yaml")[1]
    return [f"{f.line}:{f.column} {f.code}: {f.message}; {f.remedy}" for f in findings]


def test_it_is_short_for_two_timers_a_fact_and_actions() -> None:
    flow = flow_of()
    assert flow.timers["backchannel_after"] == 4.0
    assert flow.actions["say_backchannel"].say == ("Mhm.", "I see.")
    assert not flow.actions["say_backchannel"].audible
    assert flow.states["listening"].tuning.min_silence == 0.12
    assert not {*flow.states["tool_running"].after} & {"backchannel_after", "backchannel_look"}


def test_its_seconds_follow_the_pace() -> None:
    assert flow_of("pace: calm\nbackchannels: {say: Mhm.}\n").timers["backchannel_after"] == 6.0


def test_it_is_proved_that_none_is_said_while_a_step_has_the_floor() -> None:
    report = check_flow(flow_of("backchannels: {say: Mhm., in: [listening, tool_running]}\n"))
    assert report.ok
    assert list(report.findings) == []
    assert {*PROVED} <= {one.name for one in report.properties}


@pytest.mark.exhaustive
def test_with_confirm_none_is_said_to_a_user_who_is_asked() -> None:
    flow = flow_of(
        "backchannels: {say: Mhm., in: [listening, tool_running]}\n"
        "tools: {confirm: {pay: {say: Shall I?}}}\n"
    )
    assert "backchannel_look" not in flow.states["confirming"].after
    assert check_flow(flow).ok


SPOKEN = """
states:
  speaking:
    on: {user_started_speaking: {actions: say_backchannel}}
"""


def test_a_flow_that_says_one_during_a_step_is_refuted() -> None:
    report = check_flow(flow_of(WRITTEN + SPOKEN))
    broken = {finding.code for finding in report.findings}
    assert not report.ok
    assert PROVED[0] in broken, report.findings


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ("{after: 4}", "3:1 missing-key: a backchannel says nothing"),
        ("{say: Mhm., in: speaking}", "3:31 unknown-state: no backchannel is said in 'speaking'"),
        ("{say: Mhm., gap: 1}", "3:27 unknown-key: unknown key 'gap' in the backchannels"),
        ("{say: Mhm., audio: mhm.wav}", "3:27 contradiction: "),
        ("{audio: nothing.wav}", "3:23 audio: 'nothing.wav' cannot be played"),
        ("{say: Mhm., after: soon}", "3:34 type: expected a number"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(section: str, found: str) -> None:
    assert any(one.startswith(found) for one in said(f"backchannels: {section}\n")), said(
        f"backchannels: {section}\n"
    )
