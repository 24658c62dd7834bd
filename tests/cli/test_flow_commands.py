"""`turnfsm export`, `turnfsm matrix` and others, as they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import transitions
from command import run

from turnfsm.fsm import load_flow, parse_flow
from turnfsm.fsm.interop.machine_out import FlowModel
from turnfsm.runtime.pipecat.sources import not_promised, unposted
from turnfsm.runtime.proof import shipped_proofs


def test_export_for_transitions(tmp_path: Path) -> None:
    """The file builds a machine of `transitions` that holds the flow's first state."""
    file = tmp_path / "turn.json"
    assert run("export", "turn", "--to", "transitions", "-o", str(file)) == 0
    model = FlowModel(load_flow("turn"))
    transitions.Machine(model, **json.loads(file.read_text()))
    assert model.state == "listening"


def test_export_for_xstate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file there is the configuration; a .mjs file is a module with all it needs."""
    assert run("export", "turn", "--to", "xstate") == 0
    assert json.loads(capsys.readouterr().out)["initial"] == "listening"
    file = tmp_path / "turn.mjs"
    assert run("export", "turn", "--to", "xstate", "--output", str(file)) == 0
    assert "export const machine = setup(" in file.read_text(encoding="utf-8")


def test_export_for_spin(capsys: pytest.CaptureFixture[str]) -> None:
    """Every property of the flow is a formula of the model."""
    assert run("export", "turn", "--to", "promela") == 0
    said = capsys.readouterr().out
    assert "ltl an_interruption_settles {" in said
    assert "ltl no_speculation_while_a_tool_runs {" in said


def test_export_refuses_a_folder_and_an_unknown_tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder in the way and an unknown tool are said in a line, with exit status 2."""
    assert run("export", "turn", "--to", "promela", "-o", str(tmp_path)) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert run("export", "turn", "--to", "prolog") == 2
    assert "'prolog' is not one of" in capsys.readouterr().err


@pytest.mark.parametrize("width", ["80", "200"])
def test_the_table_fits_a_terminal(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table keeps within the terminal and shows guards with their brackets."""
    monkeypatch.setenv("COLUMNS", width)
    assert run("matrix", "turn") == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= int(width)
    assert "facts only" in said
    assert "[" in said
    assert "\\" not in said


def test_the_table_for_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Markdown and CSV go to the standard output as they are."""
    assert run("matrix", "turn", "--format", "markdown") == 0
    assert capsys.readouterr().out.startswith("# turn\n")
    assert run("matrix", "turn", "--format", "csv") == 0
    assert capsys.readouterr().out.startswith("state,trigger,")


@pytest.mark.parametrize("words", [("export", "trun", "--to", "xstate"), ("matrix", "trun")])
def test_an_unknown_flow_is_named(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt flow is answered with the near one."""
    assert run(*words) == 2
    assert "no flow 'trun'; did you mean 'turn'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flow", "host", "status", "said"),
    [
        ("push_to_talk", "livekit", 0, ""),
        ("push_to_talk", "pipecat", 1, "needs turn_detection='manual', which turnfsm does not"),
        ("overlap", "pipecat", 0, "note: overlap with a realtime service: its turn detection must"),
        ("utterance", "livekit", 1, "cannot govern a TurnSession: it lacks the trigger"),
    ],
)
def test_check_says_whether_a_host_can_run_a_flow(
    flow: str, host: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", flow, "--host", host) == status
    assert said in capsys.readouterr().err


def test_check_says_what_a_flow_cannot_promise_with_a_realtime_service() -> None:
    text = "flow: mine\nextends: turn\nfillers: {after: 1, say: Wait., in: thinking}\n"
    flow, _ = parse_flow(text)
    assert flow is not None
    said = "\n".join(not_promised(flow))
    for part in (
        "refused: such a service cannot wait",
        "(say_filler_1)",
        "(preemptive_generation)",
    ):
        assert part in said
    assert "refused" not in "\n".join(not_promised(load_flow("turn")))
    assert "may answer it" in "\n".join(not_promised(load_flow("speech_to_speech")))


def test_proofs_are_recorded_if_all_hold(tmp_path: Path) -> None:
    """As `specs/proofs.json` has them; a flow with a finding leaves the file as it is."""
    file = tmp_path / "proofs.json"
    assert run("check", "session", "resume", "--record", str(file)) == 0
    recorded = json.loads(file.read_text())
    assert recorded == {name: shipped_proofs()[name] for name in ("session", "resume")}
    (tmp_path / "deaf.yaml").write_text("flow: deaf\ninitial: a\nstates: {a: {}, b: {}}\n")
    assert run("check", "session", str(tmp_path / "deaf.yaml"), "--record", str(file)) == 1
    assert json.loads(file.read_text()) == recorded


def test_the_schema_and_the_reference_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `-`; a document that is not there yet is one that can be renewed."""
    assert run("schema", "-o", "-") == 0
    assert json.loads(capsys.readouterr().out)["$schema"].startswith("http://json-schema.org/")
    file = tmp_path / "reference.md"
    assert run("schema", "--format", "markdown", "-o", str(file)) == 0
    assert run("schema", "--format", "markdown", "-o", str(file), "--check") == 0
    assert "`leads_to`" in file.read_text(encoding="utf-8")


def test_the_table_of_mutants_ends_with_the_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A flow that is not proved has no score."""
    assert run("mutants", "session", "--every", "50") == 1  # no conversation: less is promised
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("score: ")
    (tmp_path / "deaf.yaml").write_text("flow: deaf\ninitial: a\nstates: {a: {}, b: {}}\n")
    assert run("mutants", str(tmp_path / "deaf.yaml")) == 2
    assert "the flow itself is not proved" in capsys.readouterr().err


def test_migrate_says_whether_stored_sessions_are_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 and both directions; 1 and the remedy, as in docs/commands.md; 2 for what is no flow."""
    monkeypatch.chdir(tmp_path)
    Path("hotel.yaml").write_text("flow: hotel\nextends: turn\ntools: {once: book}\n")
    Path("inn.yaml").write_text("flow: inn\nextends: turn\n")
    assert run("migrate", "hotel.yaml", "inn.yaml") == 1
    page = Path(__file__).parents[2] / "docs" / "commands.md"
    assert f"$ turnfsm migrate hotel.yaml inn.yaml\n{capsys.readouterr().out}" in page.read_text()
    entry = "migrates: {flow: hotel, tools: {book: book_table}}\n"
    Path("inn.yaml").write_text(f"flow: inn\nextends: turn\n{entry}")
    assert run("migrate", "hotel.yaml", "inn.yaml") == 0
    assert capsys.readouterr().out.splitlines() == [
        "calls of book are calls of book_table",
        "inn.yaml continues the sessions of hotel.yaml, and hotel.yaml those of inn.yaml",
    ]
    assert run("migrate", "inn.yaml", "hotel.yaml") == 0
    assert run("migrate", "turn", "inn.yaml") == 0
    assert run("migrate", "turn", "in.yaml") == 2
    assert "did you mean 'inn.yaml'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "who"), [("livekit", "a TurnSession"), ("pipecat", "a Pipecat pipeline")]
)
def test_check_says_that_a_host_can_run_the_flow(
    host: str, who: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", "turn", "--host", host) == 0
    assert capsys.readouterr().out.endswith(f"turn: {who} can run it\n")


def test_check_says_which_triggers_the_application_posts_on_pipecat() -> None:
    own, _ = parse_flow(
        "flow: own\nextends: turn\nevents: {lamp_lit: A lamp was lit.}\n"
        "states: {listening: {on: {lamp_lit: {}}}}\n"
    )
    assert own is not None
    assert unposted(own) == ["lamp_lit"]
    assert unposted(load_flow("turn")) == []
