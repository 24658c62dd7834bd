"""What `turnfsm check` prints, in every format, and the status that it exits with."""

import json
import re
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest
from command import run as command_run
from proved import TURN
from sarif import SARIF

from turnfsm.fsm import load_flow
from turnfsm.fsm.journal import read_journal, replay

check = partial(command_run, "check")


@pytest.fixture(scope="module", autouse=True)
def _each_file_is_proved_once() -> Iterator[None]:
    """The tests read the same files in several formats."""
    command = import_module("turnfsm.runtime.cli.check")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "check_file", cache(command.check_file))
        yield


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A turn without the guard that keeps speculation from running tools."""
    file = tmp_path_factory.mktemp("broken") / "broken.yaml"
    text = TURN.replace(
        "unless: [tools_running, result_uncommitted, message_pending", "unless: [message_pending"
    )
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def kiosk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A turn that waives a property."""
    file = tmp_path_factory.mktemp("kiosk") / "kiosk.yaml"
    waived = "properties:\n  waived: {no_dead_floor: A kiosk never stops.}\n"
    file.write_text(TURN.replace("properties:\n", waived), encoding="utf-8")
    return file


def test_a_proved_flow_exits_0_and_prints_size_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each property, then the size and the time of the proof."""
    assert check("turn", "session") == 0
    out = capsys.readouterr().out
    assert "holds   no_dead_floor" in out
    assert out.count(": proved: 0 errors; ") == 2


def test_what_a_flow_adds_is_named_and_what_its_base_has_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A property with a time, or that does not hold, is always named."""
    file = tmp_path / "mine.yaml"
    own = "properties: {never: {nobody_pays_twice: {action: answer_turn, when: turn_deferred}}}"
    waits = 'tools: {confirm: {pay: {say: "Shall I pay?"}}}'
    file.write_text(f"flow: mine\nextends: turn\n{waits}\n{own}\n", encoding="utf-8")
    check(str(file))
    out = capsys.readouterr().out
    results = dict(line.split()[1::-1] for line in out.splitlines() if line.startswith("  "))
    assert results["no_effect_without_a_yes"] == results["an_interruption_settles"] == "holds"
    assert results["nobody_pays_twice"] in ("holds", "fails")
    assert "no_effect_over_the_user" not in results
    assert re.search(r"^  holds   \d+ more properties of turn$", out, re.MULTILINE)


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
    assert "   2. preemptive_generation [host: not message_pending, not effect_pending] -> " in out


def test_bad_input_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no flow gets its diagnostic, and nothing is proved."""
    file = tmp_path / "bad.yaml"
    file.write_text("flow: x\n", encoding="utf-8")
    assert check(str(file)) == 2
    out = capsys.readouterr().out
    assert f"{file}:1:1: error: missing key 'initial'" in out
    assert out.endswith(f"{file}: not a flow: 2 errors\n")


@pytest.mark.parametrize("format", ["text", "json", "sarif", "github"])
def test_a_bad_file_does_not_hide_the_others(
    format: str, broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that do not load, that are not there and that are not proved are all reported."""
    file = tmp_path / "bad.yaml"
    file.write_text("flow: x\nstates: {a: {}}\nx: 1\n", encoding="utf-8")
    assert check(str(file), "nosuch", str(broken), "session", "--format", format) == 2
    out = capsys.readouterr().out
    for said in ("missing key 'initial'", "unknown key 'x'", "no flow 'nosuch'"):
        assert said in out
    assert "no_request_before_the_results: start_preemptive_generation is chosen" in out
    assert "no_speculation_while_a_tool_runs" in out
    if format == "json":
        reports = json.loads(out)
        assert [r["loaded"] for r in reports] == [False, False, True, True]
        assert [r["proved"] for r in reports] == [False, False, False, True]


def test_json_has_the_counterexample(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Findings, verdicts and steps are there for tools."""
    assert check(str(broken), "--format", "json") == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["proved"] is False
    assert report["complete"] is True
    (finding,) = report["findings"]
    assert finding["code"] == "no_request_before_the_results"
    assert finding["also"] == ["no_speculation_while_a_tool_runs"]
    failed = [p["name"] for p in report["properties"] if p["result"] == "fails"]
    assert sorted(failed) == ["no_request_before_the_results", "no_speculation_while_a_tool_runs"]
    assert all(finding["counterexample"]["steps"] for finding in report["findings"])


def test_sarif_has_what_the_standard_asks_for(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log fits the standard; each result names its rule, its file and a region."""
    bad = tmp_path / "bad one.yaml"
    bad.write_text("flow: x\n", encoding="utf-8")
    assert check(str(broken), str(bad), "--format", "sarif") == 2
    log = json.loads(capsys.readouterr().out)
    jsonschema.Draft7Validator(SARIF).validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert {result["level"] for result in run["results"]} == {"error"}
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert place["artifactLocation"]["uri"] in {broken.as_uri(), bad.as_uri()}
        assert place["region"]["endColumn"] > place["region"]["startColumn"]


def test_sarif_has_the_counterexample_at_its_lines(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each step stands in the code flow, at the line of the row that was taken."""
    check(str(broken), "--format", "sarif")
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (flow,) = run["results"][0]["codeFlows"]
    noted, taken = (step["location"] for step in flow["threadFlows"][0]["locations"])
    assert noted["message"]["text"] == "tool_ended -> listening  {result_uncommitted}"
    lines = broken.read_text("utf-8").splitlines()
    places = [
        lines[step["physicalLocation"]["region"]["startLine"] - 1].strip()
        for step in (noted, taken)
    ]
    assert places[0].startswith("tool_ended: {restarts: noise_limit}")
    assert places[1].startswith("preemptive_generation: {unless: [message_pending,")


def test_a_relative_file_stays_relative_in_sarif(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A code scanner finds the file in its own checkout."""
    monkeypatch.chdir(broken.parent)
    check(broken.name, "--format", "sarif")
    assert '"uri": "broken.yaml"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("format", "shown"),
    [
        ("text", "waived  no_dead_floor "),
        ("json", '"detail": "A kiosk never stops."'),
        ("sarif", '"text": "no_dead_floor is waived: A kiosk never stops."'),
        ("github", "::notice file="),
    ],
)
def test_the_reason_of_a_waiver_is_repeated(
    format: str, shown: str, kiosk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever reads a report sees what was not proved, and why."""
    assert check(str(kiosk), "--format", format) == 0
    out = capsys.readouterr().out
    assert shown in out
    assert "A kiosk never stops." in out


def test_github_gets_one_command_for_a_finding(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is on one line: what would break it is escaped."""
    assert check(str(broken), "--format", "github") == 1
    commands = [x for x in capsys.readouterr().out.splitlines() if x.startswith("::")]
    assert commands
    assert all(x.startswith(f"::error file={broken},line=") for x in commands)
    assert all("%0A" in x for x in commands)


def test_counterexamples_are_journals_that_replay(broken: Path, tmp_path: Path) -> None:
    """Each is a whole journal. It replays on the faulty flow, and not on the corrected one."""
    folder = tmp_path / "ways"
    assert check(str(broken), "--counterexamples", str(folder)) == 1
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [
        "broken.no_request_before_the_results.jsonl",
    ]
    for file in files:
        journal = read_journal(file)
        assert journal.damage is None
        assert replay(journal, load_flow(broken)) is None
        assert "preemptive_generation" in str(replay(journal, load_flow("turn")))


def test_a_proof_that_reaches_its_limit_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A proof that was stopped is no proof."""
    assert check("turn", "--limit", "10") == 1
    assert "there are more (limit 10)" in capsys.readouterr().out
