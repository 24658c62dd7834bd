"""`turnfsm report` and `turnfsm why`: what they print, and what they say of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from turnfsm import write_journal
from turnfsm.livekit import TurnSession
from turnfsm.testing import Reply, ScriptedLLM, ScriptedUser, Stage

COMMANDS = ("report", "why")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with a silence of some seconds."""
    model = ScriptedLLM({"hello": Reply("Hello there.", ttft=4.0)})
    stage = Stage(TurnSession, user=ScriptedUser().says("hello", at=1.0), llm=model)
    stage.run(10.0)
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    write_journal(path, stage.session.turn.journal.read())
    return path


@pytest.mark.parametrize("format", ["text", "json", "markdown", "html"])
def test_report_writes_every_format(
    format: str, journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To standard output, or the same to a file."""
    file = tmp_path / "report"
    assert run("report", str(journal), "--format", format) == 0
    printed = capsys.readouterr().out
    assert run("report", str(journal), "--format", format, "-o", str(file)) == 0
    assert file.read_text(encoding="utf-8") == printed
    assert "llm" in printed
    if format == "json":
        assert json.loads(printed)["turns"] == {"replied": 1}


def test_report_puts_journals_together(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as are named."""
    assert run("report", str(journal), str(journal)) == 0
    assert capsys.readouterr().out.startswith("2 conversations, ")


def test_report_takes_folders_of_journals(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is in it is measured, also by several processes, as if every file were named."""
    files = [tmp_path / f"{n}.jsonl" for n in range(120)]
    for file in files:
        file.write_bytes(journal.read_bytes())
    assert run("report", str(tmp_path)) == 0
    of_folder = capsys.readouterr().out
    assert of_folder.startswith("120 conversations, ")
    assert run("report", *map(str, files)) == 0
    assert capsys.readouterr().out == of_folder


def test_report_of_a_folder_names_the_broken_journal(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(120):
        (tmp_path / f"{n}.jsonl").write_bytes(journal.read_bytes() if n else b"hello\n")
    assert run("report", str(tmp_path)) == 2
    assert f"{tmp_path / '0.jsonl'}:1: not JSON" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run("report", str(tmp_path / "empty")) == 2
    assert "name a journal" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("apart", "rows"),
    [
        (3_600, ["2026-11-23 23:00", "2026-11-24 00:00"]),
        (3 * 86_400, ["2026-11-23", "2026-11-26"]),
        (40 * 86_400, ["2026-11-23", "2026-12-28"]),
    ],
)
def test_report_shows_a_trend(
    apart: float,
    rows: list[str],
    journal: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By hour, by day or by week; not of conversations that began in the same one."""
    header, *records = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    began = 1_795_477_500.0  # Monday, 2026-11-23 23:45
    for n in range(2):
        moved = json.loads(header) | {"started_at": began + n * apart}
        text = "".join((json.dumps(moved) + "\n", *records))
        (tmp_path / f"{n}.jsonl").write_text(text, encoding="utf-8")
    assert run("report", str(tmp_path)) == 0
    text = capsys.readouterr().out
    trend = text.partition("Trend\n")[2].partition("\n\n")[0].splitlines()
    assert trend[0].split()[:3] == ["from,", "UTC", "conversations"]
    assert [line[2:18].strip() for line in trend[1:]] == rows
    assert run("report", str(tmp_path), "--format", "json") == 0
    periods = json.loads(capsys.readouterr().out)["trend"]
    assert {name: one["journals"] for name, one in periods.items()} == dict.fromkeys(rows, 1)
    assert run("report", str(tmp_path / "0.jsonl")) == 0
    assert "Trend" not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["report", "audit"])
def test_one_of_several_files_may_be_empty(
    command: str, journal: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as the journal of a session that was made and has never started."""
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert run(command, str(empty), str(journal)) == run(command, str(journal))
    assert f"{empty}: empty, as its session has not started; left out" in caplog.text
    assert run(command, str(empty)) == 2


def test_why_names_the_cause(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every silence, or of one moment."""
    assert run("why", str(journal)) == 0
    assert "of silence: llm\n" in capsys.readouterr().out
    assert run("why", str(journal), "--at", "1.5") == 0
    assert "user_has_the_floor: the user has been speaking since 1.05 s" in capsys.readouterr().out
    assert run("why", str(journal), "--longer-than", "60") == 0
    assert capsys.readouterr().out == "no silence of more than 60 s\n"
    assert run("why", str(journal), "--at", "60") == 2
    assert "give --at a time before" in capsys.readouterr().err


def test_why_takes_folders_of_journals(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each journal has a heading."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(journal.read_bytes())
    assert run("why", str(tmp_path)) == 0
    assert capsys.readouterr().out.count(".jsonl:\n") == 2


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty; name a journal (JSON lines)"),
        ("hello\n", ":1: not JSON"),
        ('{"a": 1}\n', ":1: not a journal; its first line is a header"),
        ('{"journal": 2, "flow": "turn", "initial": "listening"}\n', "journal version 2"),
        ('{"journal": 1, "flow": "turn", "initial": "a", "timers": {"a": "b"}}\n', "it is seconds"),
    ],
)
def test_a_file_that_is_no_journal_is_reported_in_one_line(
    command: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file, the line and the remedy."""
    file = tmp_path / "a.jsonl"
    file.write_text(text)
    assert run(command, str(file)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert str(file) in error
    assert error.count("\n") == 1
    assert run(command, str(tmp_path / "none")) == 2
    assert "no such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_journal_that_was_cut_is_read_as_far_as_it_goes(
    command: str, journal: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And the log says what is missing."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(journal.read_bytes()[:-20])
    assert run(command, str(file)) == 0
    assert "the last record was cut off" in caplog.text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_journal_without_records_has_no_figures(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no error."""
    file = tmp_path / "a.jsonl"
    file.write_text('{"journal": 1, "flow": "turn", "initial": "listening"}\n')
    assert run(command, str(file)) == 0
    assert capsys.readouterr().out


def test_why_takes_the_flow(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which is loaded; a name that there is not is an error."""
    assert run("why", str(journal), "--flow", "turn") == 0
    assert "silence" in capsys.readouterr().out
    assert run("why", str(journal), "--flow", "trun") == 2
    assert "did you mean 'turn'?" in capsys.readouterr().err
