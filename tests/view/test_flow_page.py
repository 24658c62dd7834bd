"""The page of a flow: picture, table, proof, counterexamples, and the simulator."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import run
from on_page import until, violations

from turnfsm.fsm import load_flow, parse_flow
from turnfsm.fsm.check.check import check_file
from turnfsm.fsm.matrix import matrix
from turnfsm.runtime.cli import main
from turnfsm.runtime.view.flow_data import flow_data
from turnfsm.runtime.view.flow_page import flow_page
from turnfsm.runtime.view.simulator import simulate
from turnfsm.runtime.view.studio import FlowStudio

TURN = load_flow("turn")

GOOD = "flow: mine\nextends: turn\n"
BAD = GOOD + (
    "states:\n  paused:\n    after:\n"
    "      false_interruption: {dest: speaking, actions: [resume_output]}\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A flow with a fault."""
    path = tmp_path / "mine.yaml"
    path.write_text(BAD)
    return path


@pytest.fixture
def studio(file: Path) -> Iterator[FlowStudio]:
    """Its page, served."""
    served = FlowStudio(str(file), port=0)
    yield served
    served.close()


def test_a_counterexample_is_stepped_through_in_the_picture(
    tab: Any, file: Path, tmp_path: Path
) -> None:
    """Each step lights the state that the proof says."""
    page = tmp_path / "mine.html"
    page.write_text(flow_page(file))
    tab.goto(page.as_uri())
    report = check_file(file)
    finding = next(one for one in report.findings if one in report.traces)
    tab.click("#tab-proof")
    assert finding.message in tab.text_content("#proof")
    tab.click("#proof .problem button:not(.link)")
    steps = report.traces[finding].steps
    for number, step in enumerate(steps):
        lit = tab.eval_on_selector_all(".picture .current", "all => all.map(one => one.id)")
        assert lit == [f"state-{step.state}"]
        assert tab.text_content("#why b") == step.trigger
        if number + 1 < len(steps):
            tab.keyboard.press("ArrowRight")


def test_the_matrix_is_that_of_the_flow(tab: Any, tmp_path: Path) -> None:
    """Every cell, and a cell leads to its line."""
    page = tmp_path / "turn.html"
    page.write_text(flow_page("turn"))
    tab.goto(page.as_uri())
    tab.click("#tab-matrix")
    table = matrix(TURN)
    cells = tab.eval_on_selector_all("#matrix td", "all => all.map(one => one.innerText)")
    wanted = [c.lines for t in (*table.triggers, *table.timers) for c in table.row(t)]
    assert [tuple(cell.split("\n")) for cell in cells] == wanted
    tab.click("#matrix tbody tr:first-child td:nth-child(5) button")
    assert tab.locator(".line.decided").count() == 1


def test_a_trigger_is_pressed_on_a_real_machine(tab: Any, studio: FlowStudio) -> None:
    """The verdict, its reason, the facts and the state are those of `Machine`."""
    tab.goto(studio.url)
    until(tab, "page.studio.back.events.readyState === 1")
    tab.click("#simulator button:text-is('barge_in')")
    until(tab, "page.recording.records.length === 1")
    assert "no transition" in tab.text_content("#why") or "refuses" in tab.text_content("#why")
    for n, trigger in enumerate(("step_started", "start_playout", "playout_started"), 2):
        tab.click(f"#simulator button:text-is('{trigger}')")
        until(tab, f"page.recording.records.length === {n}")
    assert tab.text_content("#state") == "speaking"
    tab.click("#simulator label:has-text('interruptible') input")
    tab.click("#simulator button:text-is('barge_in')")
    until(tab, "page.recording.records.length === 5")
    assert tab.text_content("#state") == "interrupted"
    tab.click("#simulator button:text-is('Undo')")
    until(tab, "page.recording.records.length === 4")
    assert tab.text_content("#state") == "speaking"


def test_a_scene_is_played_with_one_click_and_again_after_a_change(
    tab: Any, studio: FlowStudio, file: Path
) -> None:
    """The user says okay: the agent is stopped. In a flow that wants two words it is not."""
    tab.goto(studio.url)
    until(tab, "page.studio.back.events.readyState === 1")
    tab.click("""#simulator button:has-text('"okay" while')""")
    until(tab, "page.recording.records.length > 10")
    until(tab, "page.player.t > 0.2")
    assert tab.evaluate("page.recording.lanes.states.at(-2).label") == "interrupted"
    assert tab.evaluate("page.recording.silences.length") == 0  # its seconds are made up
    file.write_text(GOOD + "states:\n  speaking: {tuning: {min_words: 2}}\n")
    until(tab, "page.recording.lanes?.states.at(-1).label === 'speaking'")


def test_a_scene_shows_what_the_words_were_taken_for_and_how_that_changed(
    tab: Any, studio: FlowStudio, file: Path
) -> None:
    """With one click. A flow that takes no words over the agent for anything has other words."""
    file.write_text("flow: mine\nextends: overlap\n")
    tab.goto(studio.url)
    until(tab, "page.studio.back.events.readyState === 1")
    until(tab, "page.recording.flow.facts.backchannel !== undefined")
    tab.click("""#simulator button:has-text('"okay, but"')""")
    until(tab, "page.player.t > 0.2")
    assert tab.is_visible("#evidence")
    cells = "all => all.map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
    _, *lines = tab.eval_on_selector_all("#evidence tr", cells)
    assert lines[0] == ["phrases", "backchannel", "", "nothing"]
    assert lines[1][1:3] == ["other words", "backchannel, 0.50 s before"]
    assert "interrupt_speech" in lines[1][3]
    tab.click("""#simulator button:has-text('"okay" while')""")
    until(tab, "!document.querySelector('#evidence').textContent.includes('other words')")
    _, *lines = tab.eval_on_selector_all("#evidence tr", cells)
    assert [says for _, says, *_ in lines] == ["backchannel", "backchannel"]


def test_findings_stand_at_their_lines_as_the_file_is_saved(
    tab: Any, studio: FlowStudio, file: Path
) -> None:
    """Mended, broken, no YAML at all, and mended again; what was pressed stays pressed."""
    tab.goto(studio.url)
    until(tab, "document.querySelectorAll('.finding').length > 0")
    line = next(n for n, text in enumerate(BAD.split("\n"), 1) if "false_interruption" in text)
    assert tab.text_content(".line.wrong .number") == str(line)
    tab.click("#simulator button:text-is('step_started')")
    until(tab, "page.recording.records.length === 1")
    file.write_text(GOOD)
    until(tab, "document.querySelector('.badge.good') !== null")
    until(tab, "page.recording.records.length === 1")
    assert tab.locator(".finding").count() == 0
    file.write_text("flow: mine\nstates: [")
    until(tab, "document.querySelector('.badge.bad')?.textContent === 'not a flow'")
    assert tab.locator(".finding").count() == 1
    file.write_text(GOOD)
    until(tab, "document.querySelector('.badge.good') !== null")


def test_the_simulator_takes_json_only(studio: FlowStudio) -> None:
    """A form of another site can press nothing."""
    for kind, body, code in (
        ("text/plain", b"{}", 415),
        ("application/json", b"{}", 400),
        ("application/json", b"[", 400),
    ):
        request = urllib.request.Request(f"{studio.url}simulate", body, {"Content-Type": kind})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        assert refused.value.code == code
        refused.value.close()


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_has_nothing_against_it(
    tab: Any, axe: str, studio: FlowStudio, theme: str, width: int
) -> None:
    """On a desk and on a phone, with the table and with the proof."""
    tab.set_viewport_size({"width": width, "height": 844})
    tab.emulate_media(color_scheme=theme)
    tab.goto(studio.url)
    until(tab, "document.querySelectorAll('.finding').length > 0")
    for name in ("picture", "matrix", "proof"):
        tab.click(f"#tab-{name}")
        assert violations(tab, axe) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_timer_takes_its_time_and_an_old_step_is_stale() -> None:
    """As on a session."""
    presses = [{"trigger": "step_started", "host": ["interruptible"]}, {"trigger": "handover"}]
    presses += [{"trigger": "step_finished", "stale": True}, {"trigger": "step_finished"}]
    done = simulate(TURN, presses)
    started, timer, stale, finished = done["records"]
    assert timer["t"] - started["t"] == TURN.timers["handover"]
    assert (stale["q"], finished["d"]) == ("stale", "listening")
    assert simulate(TURN, [{"trigger": "nonsense"}])["trouble"].startswith("flow 'turn' has no")


def test_a_file_that_is_no_flow_has_a_page(tmp_path: Path) -> None:
    """With its finding at its line."""
    path = tmp_path / "odd.yaml"
    path.write_text("flow: odd\nstates: 7\n")
    assert json.dumps("states: 7")[1:-1] in flow_page(path)


def test_a_missing_flow_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to name."""
    assert run("view", str(tmp_path / "none.yaml")) == 2
    assert "none.yaml: no such file; name a flow" in capsys.readouterr().err


def test_the_page_of_a_flow_is_written(tmp_path: Path) -> None:
    """With -o, as one file."""
    with pytest.raises(SystemExit) as end:
        main(["view", "turn", "-o", str(tmp_path / "turn.html")])
    assert not end.value.code
    assert (tmp_path / "turn.html").read_text().startswith("<!doctype html>")


def test_the_page_shows_what_an_action_says() -> None:
    flow, _ = parse_flow(
        "{flow: mine, extends: turn, fillers: {say: [One moment., A second.], in: thinking}}"
    )
    assert flow is not None
    shown = flow_data(flow)["actions"]
    assert shown["say_filler_1"] == "Say 'One moment.' or 'A second.'"
    assert shown["answer_turn"] == flow.actions["answer_turn"].is_
