"""The key `pace` scales the delays that a caller notices, not a timer that the flow sets itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_text import parsed

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import as_text
from turnfsm.fsm.pace import times

SECTIONS = """
fillers: [{say: Moment.}, {say: It takes longer.}]
silence: [{say: Hello?}, {say: Bye., hang_up: true}]
monologue: {}
states: {listening: {tuning: {expect: {kind: digits, length: 10}}}}
"""
NORMAL = {
    "false_interruption": 2.0,
    "noise_limit": 2.5,
    "filler_1": 1.5,
    "filler_2": 5.0,
    "silence_1": 8.0,
    "silence_2": 8.0,
    "hang_up_after": 1.0,
    "monologue": 20.0,
}


def flow_of(text: str, extends: str = "turn") -> Flow:
    return parsed(f"flow: mine\nextends: {extends}\n{text}\n", "mine.yaml")


def wait_of(flow: Flow) -> float:
    expected = flow.states["listening"].tuning.expect
    assert expected is not None
    return expected.wait


@pytest.mark.parametrize(("pace", "factor"), [("calm", 1.5), ("normal", 1.0), ("brisk", 0.6)])
def test_the_delays_that_a_caller_notices_are_scaled(pace: str, factor: float) -> None:
    flow = flow_of(f"pace: {pace}{SECTIONS}")
    for timer, seconds in NORMAL.items():
        assert flow.timers[timer] == pytest.approx(seconds * factor), timer
    assert wait_of(flow) == pytest.approx(4.0 * factor)
    assert flow.timers["monologue_limit"] == flow.timers["monologue"] + 5.0


def test_timers_that_no_caller_notices_stay() -> None:
    turn, brisk = load_flow("turn"), flow_of("pace: brisk")
    changed = {name for name in turn.timers if turn.timers[name] != brisk.timers[name]}
    assert changed == {"false_interruption", "noise_limit"}


def test_the_normal_pace_is_the_one_without_the_key() -> None:
    assert flow_of("pace: normal") == flow_of("") != flow_of("pace: calm")


def test_what_is_written_stays() -> None:
    flow = flow_of(
        "pace: brisk\ntimers: {false_interruption: 1.7, hang_up_after: 3, silence_2: 7}\n"
        "fillers: {after: 2, say: Moment.}\n"
        "silence: [{after: 9, say: Hello?}, {say: Bye., hang_up: true}]\n"
        "monologue: {after: 30}\n"
        "states: {listening: {tuning: {expect: {kind: digits, length: 10, wait: 5}}}}\n"
    )
    expected = {
        "false_interruption": 1.7,
        "filler_1": 2.0,
        "silence_1": 9.0,
        "silence_2": 7.0,
        "hang_up_after": 3.0,
        "monologue": 30.0,
    }
    assert {name: flow.timers[name] for name in expected} == expected
    assert wait_of(flow) == 5.0
    assert flow.paced == {"noise_limit": 1.5}


def test_what_a_base_of_ones_own_has_written_stays_too(tmp_path: Path) -> None:
    """Only the seconds of a shipped flow follow the pace, however far away it is."""
    (tmp_path / "base.yaml").write_text(
        "flow: base\nextends: overlap\npace: calm\ntimers: {false_interruption: 1.0}\n"
    )
    mine = tmp_path / "mine.yaml"
    for text, noise in (("", 3.75), ("pace: brisk\n", 1.5), ("pace: null\n", 2.5)):
        mine.write_text(f"flow: mine\nextends: base.yaml\n{text}")
        timers = load_flow(mine).timers
        assert (timers["false_interruption"], timers["noise_limit"]) == (1.0, noise)


def test_a_reply_to_several_tools_keeps_its_own_first_filler() -> None:
    """The first filler of each set of tools is the early one."""
    flow = flow_of("fillers: [{say: A., tools: pay}, {say: B.}, {say: C., tools: pay}]")
    assert [flow.timers[f"filler_{n}"] for n in (1, 2, 3)] == [1.5, 1.5, 5.0]


@pytest.mark.exhaustive
def test_the_check_says_which_seconds_follow_from_the_pace() -> None:
    text = "pace: calm\nsilence: {after: 5, say: Hello?, hang_up: true}\n"
    report = check_flow(flow_of(text))
    assert report.ok
    (note,) = (line for line in as_text([report]).splitlines() if "note:" in line)
    assert note == (
        "mine.yaml:3:1: note: pace calm: false_interruption 3 s, noise_limit 3.75 s, "
        "hang_up_after 1.5 s, endpointing 0.75 to 4.5 s, unless the session gives its delays"
    )
    assert check_flow(flow_of("pace: normal")).notes == ()


def test_seconds_are_rounded_to_milliseconds() -> None:
    assert times("brisk", 0.3) == 0.18
    assert times("calm", 0.1) == 0.15
