"""The delays of a flow that a caller notices, and the edits that make them worse."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import pytest

from turnfsm.fsm import load_flow, parse_flow
from turnfsm.fsm.bounds import AT_LEAST, BOUNDS
from turnfsm.fsm.check.check import check_file, check_flow
from turnfsm.fsm.check.report import Report, as_json, as_text

HEAD = "flow: mine\nextends: turn\n"


def _checked(folder: Path, text: str) -> Report:
    file = folder / "mine.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return check_file(file)


EDITS = {
    "transcript_wait: 20": (["transcript_wait"], "20 s, but noise_limit ends the wait after 2.5 s"),
    "thinking_limit: 2": (["for_a_model"], "given up after 2 s; AgentSession would wait"),
    "turn_overdue: 2": (["for_an_answer"], "given up after 2 s"),
    "tool_limit: 1": (["for_a_tool"], "given up after 1 s"),
    "false_interruption: 60": (["false_interruption"], "noise_limit ends the wait after 2.5 s"),
    "handover: 30": (["after_a_tool"], "30 s, in turn 0.25 s"),
    "noise_limit: 90": (["after_noise"], "180 s, in turn 5 s"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_a_caller_suffers_from_is_a_warning(edit: str, tmp_path: Path) -> None:
    """The flow is proved all the same; the warning stands at the timer, and says how to mean it."""
    report = _checked(tmp_path, f"timers: {{{edit}}}\n")
    names, said = EDITS[edit]
    assert report.ok
    found = [finding for finding in report.findings if finding.code == "delay"]
    assert sorted(finding.message.partition(":")[0] for finding in found) == sorted(names)
    assert {(f.severity, f.line, f.column) for f in found} == {("warning", 3, 10)}
    assert any(said in finding.message for finding in found)


TOO_LONG = """\
fillers: {after: 1500, say: One moment.}
silence: {after: 8000, say: Hello?}
timers: {report_after: 5000}
states: {speaking: {tuning: {min_duration: 500}}}
backchannels: {say: Mhm., pause: 2}
hold: {limit: 60000, then: Are you back?}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            TOO_LONG,
            [
                "3:18 filler_1: 1500 s are 25 minutes; if these are milliseconds, write 1.5",
                "4:18 silence_1: 8000 s are 133 minutes; if these are milliseconds, write 8",
                "5:24 report_after: 5000 s are 83 minutes; if these are milliseconds, write 5",
                "6:44 min_duration: 500 s are 8 minutes; if these are milliseconds, write 0.5",
                "7:34 pause: 2 s, but a VAD reports the end of speech earlier; write less than "
                "the silence of your VAD (Silero on LiveKit: 0.55)",
                "8:15 hold: 60000 s are 1000 minutes; if these are milliseconds, write 60",
            ],
        ),
        (
            "timers: {tool_limit: 2}\nbounds: {for_a_tool: 2}\nfillers: {after: 3, say: Wait.}\n",
            [
                "5:11 filler_1: 3 s, but tool_limit ends the wait after 2 s; make tool_limit "
                "longer as well, or filler_1 shorter"
            ],
        ),
    ],
    ids=["meant as milliseconds", "another timer ends first"],
)
def test_what_is_too_long_to_be_meant_is_a_warning(
    text: str, expected: list[str], tmp_path: Path
) -> None:
    """Milliseconds, and a timer that another one always ends before; the flow is proved."""
    report = _checked(tmp_path, text)
    found = [f for f in report.findings if f.severity == "warning"]
    assert [f"{f.line}:{f.column} {f.message}; {f.remedy}" for f in found] == expected
    assert report.ok


def test_ordinary_edits_are_none(tmp_path: Path) -> None:
    """Somewhat longer or shorter is a matter of taste, and a hold may take half an hour."""
    edits = "{false_interruption: 1.2, thinking_limit: 60, settle: 0.4, report_after: 60}"
    hold = "hold: {limit: 1800, then: Are you back?}"
    report = _checked(tmp_path, f"timers: {edits}\n{hold}\n")
    assert report.ok
    assert [finding for finding in report.findings if finding.severity == "warning"] == []


def test_what_is_meant_is_said_as_a_bound(tmp_path: Path) -> None:
    """The warning names the line, and then there is none; the bound is a property."""
    report = _checked(tmp_path, "timers: {handover: 30}\nbounds: {after_a_tool: 30}\n")
    assert report.findings == ()
    (bound,) = (v for v in report.properties if v.name == "after_a_tool")
    assert (bound.result, bound.origin) == ("holds", "declared")
    assert bound.detail == "30 s (handover 30)"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("bound", "says", "remedy"),
    [
        (
            "after_noise: 4",
            "after_noise: it is 5 s (noise_limit 2.5 + noise_limit 2.5), more than 4 s",
            "make noise_limit shorter",
        ),
        (
            "after_a_short_sound: 0.2",
            "it is 0.3 s (transcript_wait 0.3), more than 0.2 s",
            "make transcript_wait shorter",
        ),
        (
            "for_a_tool: 60\nlimits: brisk",
            "for_a_tool: it is 10 s (tool_limit 10), less than 60 s",
            "make tool_limit longer",
        ),
    ],
)
def test_a_bound_that_does_not_hold_is_an_error_at_its_place(
    bound: str, says: str, remedy: str
) -> None:
    """`check_flow`, which a session asks too, refuses the flow."""
    flow, findings = parse_flow(f"{HEAD}bounds:\n  {bound}\n", "mine.yaml")
    assert flow is not None, findings
    (finding,) = check_flow(flow).findings
    assert (finding.place, finding.severity) == ("mine.yaml:4:3", "error")
    assert says in finding.message
    assert finding.remedy == f"{remedy}, or change the bound"


def test_the_report_compares_with_the_base(tmp_path: Path) -> None:
    """As text and as JSON: the times of this flow, and those of the base where they differ."""
    report = _checked(tmp_path, "timers: {false_interruption: 2.4}\n")
    times = {one.name: (one.seconds, one.base) for one in report.delays}
    assert set(times) == set(BOUNDS)
    assert times["after_a_long_sound"] == (2.4, 2.0)
    assert "at most 2.4 s (in turn: 2 s), silence after a sound" in as_text([report])
    delays = {one["name"]: one for one in json.loads(as_json([report]))[0]["delays"]}
    assert delays["after_a_long_sound"]["base"] == 2.0


def test_the_shipped_turn_keeps_what_a_caller_expects() -> None:
    """The base of every comparison."""
    times = {one.name: one.seconds for one in check_file("turn").delays}
    assert times["after_a_short_sound"] == 0.3
    assert times["after_a_long_sound"] == 2.0
    assert times["after_noise"] <= 10.0
    assert all(times[name] >= 5.0 for name in AT_LEAST)
    assert max(seconds for name, seconds in times.items() if name not in AT_LEAST) < inf
    assert load_flow("turn").bounds == {}
