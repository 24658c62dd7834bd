"""The section `backchannels`: how it is read, and what is proved."""

from __future__ import annotations

import pytest
from flow_text import parsed

from turnfsm.fsm import Flow
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
