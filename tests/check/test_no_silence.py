"""`no_silence_longer_than` is proved as a bound, or refuted with the rows and a remedy."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest
from flow_text import parsed
from proved import shipped

from turnfsm.fsm import Flow, parse_flow
from turnfsm.fsm.check.check import check_file, check_flow
from turnfsm.fsm.check.report import Report
from turnfsm.fsm.flow import Transition

HEAD = "flow: mine\nextends: turn\n"
SECTION = "never_silent: {after: 4, say: Still with you., give_up: Please say it again.}\n"
NAME = "no_silence_longer_than"


def flow_of(text: str) -> Flow:
    return parsed(HEAD + text, "mine.yaml")


def refuted(report: Report) -> tuple[str, str, str, str]:
    """The place, the message, the remedy and the conversation."""
    (finding,) = (one for one in report.findings if one.code == NAME)
    assert finding.severity == "error"
    return finding.place, finding.message, finding.remedy, report.traces[finding].text()


def detail(report: Report) -> str:
    (result,) = (one for one in report.properties if one.name == NAME)
    assert (result.result, result.origin) == ("holds", "declared")
    return result.detail


def test_the_section_proves_its_seconds(tmp_path: Path) -> None:
    """Through all tools and replies together. Who declares it means to give up a model by then."""
    file = tmp_path / "mine.yaml"
    file.write_text(f"{HEAD}{SECTION}", encoding="utf-8")
    report = check_file(file)
    assert report.findings == ()
    assert detail(report) == "at most 4 s (quiet 4)"


def test_a_flow_without_it_has_no_such_property() -> None:
    assert all(one.name != NAME for one in shipped("turn").properties)


def test_fillers_alone_do_not_prove_it() -> None:
    """They are for tools, and count from the tool. Before the step of a reply nothing is said."""
    text = f"fillers: {{after: 1.5, say: Moment.}}\nproperties: {{{NAME}: 4}}\n"
    place, message, remedy, way = refuted(check_flow(flow_of(text)))
    assert place == "mine.yaml:4:14"
    assert "no timer leaves listening" in message
    assert "'never_silent: {after: 4, say: TEXT, give_up: TEXT}'" in remedy
    assert "reply_requested -> listening" in way


def test_the_documentation_shows_what_is_printed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "proof.md").read_text(encoding="utf-8")
    (text,) = (t for t in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if NAME in t)
    flow, findings = parse_flow(text, "mine.yaml")
    assert flow is not None, findings
    (finding,) = check_flow(flow).findings
    assert finding.render() in page


@pytest.mark.exhaustive
def test_a_longer_timer_is_found_with_its_seconds() -> None:
    place, message, remedy, _ = refuted(check_flow(flow_of(f"{SECTION}timers: {{quiet: 6}}\n")))
    assert place == "mine.yaml:3:16"
    assert "it takes 6 s (quiet 6), more than 4 s" in message
    assert remedy == "make shorter: quiet; or allow 6"


@pytest.mark.exhaustive
def test_a_guard_that_the_host_may_close_is_found() -> None:
    guarded = "states: {tool_running: {after: {quiet: {unless: holdable, actions: say_quiet}}}}\n"
    _, message, remedy, _ = refuted(check_flow(flow_of(SECTION + guarded)))
    assert "no timer leaves tool_running" in message or "again and again" in message
    assert "'tool_running'" in remedy
    assert "whatever the host answers" in remedy


@pytest.mark.exhaustive
def test_a_call_that_waits_for_a_yes_of_the_user_is_no_silence_of_the_agent() -> None:
    """The agent has asked, and waits for the user."""
    report = check_flow(flow_of(f"{SECTION}tools: {{confirm: {{pay: {{say: Shall I pay?}}}}}}\n"))
    assert report.findings == ()
    assert detail(report) == "at most 4 s (quiet 4)"


LOST = {
    "no longer lasting": lambda flow: attrs.evolve(flow, lasting=()),
    "no longer in thinking": lambda flow: without(flow, "thinking"),
    "no longer in tool_running": lambda flow: without(flow, "tool_running"),
    "no longer in listening": lambda flow: without(flow, "listening"),
    "no longer in interrupted": lambda flow: without(flow, "interrupted"),
    "not said before the step of a reply": lambda flow: unsaid(flow),
    "started again by tokens": lambda flow: restarted(flow, "thinking", "step_progressed"),
    "started again by a call": lambda flow: restarted(flow, "tool_running", "tool_ended"),
}


def unsaid(flow: Flow) -> Flow:
    """Nothing is said between the request of a reply and its step."""
    body = flow.states["listening"]
    rows = tuple(row for row in body.after["quiet"] if row.conditions[0] != "reply_awaited")
    listening = attrs.evolve(body, after={**body.after, "quiet": rows})
    return attrs.evolve(flow, states={**flow.states, "listening": listening})


def without(flow: Flow, state: str) -> Flow:
    """The state has no timer for the silence."""
    body = flow.states[state]
    after = {name: rows for name, rows in body.after.items() if name != "quiet"}
    return attrs.evolve(flow, states={**flow.states, state: attrs.evolve(body, after=after)})


def restarted(flow: Flow, state: str, trigger: str) -> Flow:
    """What is not heard starts the timer again."""
    body = flow.states[state]
    (row,) = body.on.get(trigger, (Transition(),))
    again = attrs.evolve(row, restarts=(*row.restarts, "quiet"))
    on = {**body.on, trigger: (again,)}
    return attrs.evolve(flow, states={**flow.states, state: attrs.evolve(body, on=on)})


@pytest.mark.exhaustive
@pytest.mark.parametrize("lost", LOST)
def test_each_part_of_it_is_needed(lost: str) -> None:
    report = check_flow(LOST[lost](flow_of(SECTION)))
    _, message, remedy, _ = refuted(report)
    if lost == "started again by tokens":
        assert "step_progressed can come again and again" in message
        assert remedy == "do not let 'step_progressed' restart 'quiet': the user does not hear it"
    if lost.startswith("no longer in"):
        state = lost.rpartition(" ")[2]
        assert remedy == f"say something in '{state}', too: add 'quiet' to its 'after'"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "text",
    [
        "fillers: {after: 1.5, say: Moment.}\nsilence: {after: 8, say: Hello?}\n",
        "hold: {say: I wait., then: Are you back?}\nmonologue: {after: 20}\n",
        "limits: brisk\npace: calm\n",
    ],
)
@pytest.mark.parametrize("base", ["turn", "overlap", "uninterruptible"])
def test_it_is_proved_together_with_the_other_sections(text: str, base: str) -> None:
    flow, findings = parse_flow(f"flow: mine\nextends: {base}\n{SECTION}{text}", "mine.yaml")
    assert flow is not None, findings
    report = check_flow(flow)
    assert report.findings == ()
    assert detail(report) == "at most 4 s (quiet 4)"
