"""What `turnfsm check` prints, in every format, and the status that it exits with."""

import json
from pathlib import Path

import pytest
from proved import TURN

from fsm import Machine, load_flow
from runtime.cli import main


def check(*words: str) -> int:
    """Run the command and return its exit status."""
    with pytest.raises(SystemExit) as stopped:
        main(["check", *words])
    return int(stopped.value.code or 0)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A turn without the guard that keeps speculation from running tools."""
    file = tmp_path / "broken.yaml"
    text = TURN.replace("unless: [tools_running, result_uncommitted]", "unless: []")
    file.write_text(text, encoding="utf-8")
    return file


def test_a_proved_flow_exits_0_and_says_how_far_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each property, then the size and the time of the proof."""
    assert check("turn", "session") == 0
    out = capsys.readouterr().out
    assert "holds   no_dead_floor" in out
    assert out.count(": proved: 0 errors; ") == 2


def test_findings_exit_1_with_place_caret_and_way(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text has the place, the line, the caret and the numbered steps."""
    assert check(str(broken)) == 1
    out = capsys.readouterr().out
    line = next(n for n, t in enumerate(TURN.splitlines(), 1) if "preemptive_generation: {un" in t)
    assert f"{broken}:{line}:7: error: no_request_before_the_results: " in out
    assert "^^^^^^^^^^^^^^^^^^^^^" in out
    assert "   1. tool_ended -> listening  {result_uncommitted}" in out
    assert "   2. preemptive_generation -> listening / start_preemptive_generation" in out


def test_bad_input_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no flow gets its diagnostic, and nothing is proved."""
    file = tmp_path / "bad.yaml"
    file.write_text("flow: x\n", encoding="utf-8")
    assert check(str(file)) == 2
    assert "missing key 'initial'" in capsys.readouterr().err


def test_json_has_the_counterexample(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Findings, verdicts and steps are there for tools."""
    assert check(str(broken), "--format", "json") == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["proved"] is False
    assert report["complete"] is True
    codes = {finding["code"] for finding in report["findings"]}
    assert {"no_speculation_while_a_tool_runs", "no_request_before_the_results"} <= codes
    assert all(finding["counterexample"]["steps"] for finding in report["findings"])


def test_sarif_has_rules_places_and_levels(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each result names a declared rule, the file and a region that begins at the finding."""
    assert check(str(broken), "--format", "sarif") == 1
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert log["version"] == "2.1.0"
    assert run["results"]
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert result["ruleId"] in rules
        assert result["level"] == "error"
        assert place["artifactLocation"]["uri"] == str(broken)
        assert place["region"]["endColumn"] > place["region"]["startColumn"]


def test_github_gets_one_command_for_a_finding(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is on one line: what would break it is escaped."""
    assert check(str(broken), "--format", "github") == 1
    commands = [x for x in capsys.readouterr().out.splitlines() if x.startswith("::")]
    assert commands
    assert all(x.startswith(f"::error file={broken},line=") for x in commands)
    assert all("%0A" in x for x in commands)


def test_the_counterexample_file_replays(broken: Path, tmp_path: Path) -> None:
    """A Machine that is fed the journal's lines answers as they say."""
    file = tmp_path / "way.jsonl"
    assert check(str(broken), "--counterexample", str(file)) == 1
    machine = Machine(load_flow(broken))
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert entries
    for entry in entries:
        machine.give(entry["given"])
        assert bool(machine.step(entry["trigger"], entry["of"])) == entry["taken"]
        assert machine.state == entry["state"]


def test_a_limit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A proof that was given up is no proof."""
    assert check("turn", "--limit", "10") == 1
    assert "there are more (limit 10)" in capsys.readouterr().out
