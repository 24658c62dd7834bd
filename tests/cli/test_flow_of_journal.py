"""The commands that read a journal judge it by its own flow, and by no other."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from command import run

from turnfsm import load_flow, write_journal
from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedLLM, ScriptedUser, Stage


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journals of two flows, and their files: desk.jsonl, desk.yaml, till.jsonl, till.yaml."""
    path = tmp_path_factory.mktemp("calls")
    for name in ("desk", "till"):
        file = path / f"{name}.yaml"
        file.write_text(f"flow: {name}\nextends: turn\n")
        session = partial(TurnSession, flow=load_flow(file), proof="off")
        stage = Stage(session, user=ScriptedUser().says("hello", at=1.0), llm=ScriptedLLM())
        stage.run(6.0)
        write_journal(path / f"{name}.jsonl", stage.session.turn.journal.read())
    return path


def test_an_audit_without_the_flow_of_a_journal_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of it could be judged by the properties and the replay."""
    assert run("audit", str(folder / "desk.jsonl")) == 2
    assert "of the flow 'desk', which is no shipped one" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [("audit",), ("why",), ("view",), ("timeline", "-o", "line.svg")], ids=str
)
def test_a_journal_of_another_flow_is_refused(
    command: tuple[str, ...],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message has both names, and the remedy."""
    monkeypatch.chdir(tmp_path)
    name, *more = command
    other = str(folder / "till.yaml")
    assert run(name, str(folder / "desk.jsonl"), *more, "--flow", other) == 2
    message = "of the flow 'desk', and the given one is 'till'; name its file: --flow FILE.yaml"
    assert message in capsys.readouterr().err


def test_each_journal_of_a_folder_is_judged_by_its_own_flow(folder: Path) -> None:
    """`--flow` can be given for each."""
    flows = [part for name in ("desk", "till") for part in ("--flow", str(folder / f"{name}.yaml"))]
    assert run("audit", str(folder), *flows) == 0


@pytest.mark.parametrize(
    "edit",
    [
        "states: {listening: {refuses: turn_committed}}",
        "states: {listening: {on: {turn_committed: {dest: speaking}}}}",
    ],
)
def test_an_edited_flow_is_a_finding(
    edit: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first entry that it decides differently; no traceback."""
    edited = tmp_path / "desk.yaml"
    edited.write_text(f"flow: desk\nextends: turn\n{edit}\n")
    assert run("audit", str(folder / "desk.jsonl"), "--flow", str(edited)) == 1
    assert "journal taken" in capsys.readouterr().out
