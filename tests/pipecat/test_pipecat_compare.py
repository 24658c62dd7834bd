"""`turnfsm compare --host pipecat`: what goes wrong on Pipecat alone goes right with a governor."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from attrs import evolve

from turnfsm.runtime.cli import main
from turnfsm.runtime.compare import Compared, Scenario, Side, as_markdown, compare
from turnfsm.runtime.compare.pipecat import HOST

PAGE = Path(__file__).parents[2] / "docs" / "pipecat-failures.md"
STALE = "run `turnfsm compare --host pipecat --format markdown -o docs/pipecat-failures.md`"

# For each scenario, words of the problem that must be found: the failure described, no other.
FOUND = {
    "N1": "is cut off for good",
    "N2": "is cut off for good",
    "N3": "is never heard",
    "N4": "look_up is cancelled at 4.00 s",
    "N5": "book is cancelled at 4.50 s, after its effect",
    "N6": "look_up is cancelled at 3.00 s",
    "N7": "'Welcome to the shop dear customer.' is cut off for good",
    "N8": "is never heard",
    "N9": "is cut off for good",
    "N10": "is never heard",
    "N11": "is cut off for good",
    "N12": "is cut off for good",
    "N13": "look_up is cancelled",
    "T1": "'It arrives on Friday.' is never heard",
    "T2": "book has its effect 2 times",
    "T3": "show look_up, which was cancelled at 3.00 s, as running",
    "T4": "show book, which was cancelled at 3.00 s, as running",
    "T5": "train is cancelled",
    "T6": "'It arrives on Friday.' is never heard",
    "T7": "book has its effect 0 times",
    "T8": "book has its effect 1 times",
    "T9": "book has its effect 2 times",
    "T10": "book has its effect 2 times",
    "T11": "'It arrives on Friday.' is never heard",
    "T12": "'It arrives on Friday.' is never heard",
    "C1": "look_up has its effect 2 times",
    "C2": "is never heard",
    "C3": "'The train is late.' is never heard",
    "C4": "look_up has its effect 2 times",
    "D1": "in the middle of what is heard",
    "D2": "while the user speaks",
    "D3": "in the middle of what is heard",
    "D4": "'I am still looking.' is heard",
    "E1": "'I am still looking.' is never heard",
    "E2": "is never heard",
}


@pytest.fixture(scope="module")
def rows() -> dict[str, Compared]:
    """Every scenario, played on both."""
    return {row.scenario.id: row for row in compare(HOST, HOST.all)}


def test_every_scenario_has_its_failure_written_down() -> None:
    """The table of expected failures and the scenarios are the same set, ids unique."""
    assert sorted(s.id for s in HOST.scenarios) == sorted(FOUND)
    assert len({s.id for s in HOST.all}) == len(HOST.all)


@pytest.mark.parametrize("failing", HOST.scenarios, ids=lambda s: s.id)
def test_pipecat_alone_fails_as_described(failing: Scenario, rows: dict[str, Compared]) -> None:
    problems = rows[failing.id].stock.problems
    assert any(FOUND[failing.id] in problem for problem in problems), problems


@pytest.mark.parametrize("control", HOST.controls, ids=lambda s: s.id)
def test_controls_go_right_on_pipecat_alone(control: Scenario, rows: dict[str, Compared]) -> None:
    """What Pipecat does right, the kit shows as right: its verdicts are no artefacts."""
    assert rows[control.id].stock.problems == ()


@pytest.mark.parametrize("case", HOST.all, ids=lambda s: s.id)
def test_goes_right_with_a_governor(case: Scenario, rows: dict[str, Compared]) -> None:
    assert rows[case.id].ours.problems == ()


def test_the_page_is_what_the_command_writes(rows: dict[str, Compared]) -> None:
    written = PAGE.read_text(encoding="utf-8")
    (version,) = re.findall(r"Pipecat \(pipecat-ai (.*)\): wrong", written)
    if version != HOST.version:
        pytest.skip(f"the page was written with pipecat-ai {version}, this is {HOST.version}")
    assert as_markdown(HOST, list(rows.values())) == written, STALE


def test_every_failure_has_a_class_and_says_what_the_caller_gets() -> None:
    assert {s.failure for s in HOST.scenarios} <= {failure.letter for failure in HOST.classes}
    for failing in HOST.scenarios:
        assert re.search(r"\b(caller|model)", failing.wrong), failing.id
    assert not any(control.wrong or control.failure for control in HOST.controls)


def test_links_name_an_issue_or_a_pull_request() -> None:
    for link in (link for s in HOST.scenarios for link in s.links):
        assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+", link)


def exit_status(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as done:
        main(["compare", "--host", "pipecat", *words])
    return done.value.code


def test_the_command_prints_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    """Pipecat's own log is not printed."""
    assert exit_status("T3", "--format", "json") == 0
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    (row,) = data["rows"]
    assert data["pipecat_ai"] == HOST.version
    assert (row["id"], row["class"], row["verdict"]) == ("T3", "T", "as described")
    assert row["turnfsm"]["heard"][-1]["text"] == "It arrives on Friday."
    assert printed.err.startswith("TurnGovernor: 1 of 1 right. Pipecat (pipecat-ai ")


def test_a_task_that_is_left_over_is_a_problem() -> None:
    """Whatever the scenario says."""
    outcome = evolve(HOST.scenario("K1").play(HOST.ours.session), orphans=("stray",))
    side = Side.of(HOST.scenario("K1"), outcome)
    assert side.problems == ("the task stray outlives the session",)
