"""`turnfsm view`: what it leaves, and what it says to bad input."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from command import run as command_run

HEADER = {"journal": 1, "flow": "turn", "initial": "listening"}
NOTE = {"seq": 1, "t": 1.0, "note": "message", "data": {"role": "user"}}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


status = partial(command_run, "view")


def test_a_page_stands_beside_its_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without -o, and its name is printed."""
    journal = write(tmp_path / "call.jsonl", HEADER, NOTE)
    assert status(journal) == 0
    assert (tmp_path / "call.html").read_text().startswith("<!doctype html>")
    assert capsys.readouterr().out == f"{tmp_path / 'call.html'}\n"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([HEADER | {"journal": 7}, NOTE], "this turnfsm reads version 1"),
        ([{"hello": "world"}], "not a journal"),
        ([], "empty"),
        ([HEADER | {"flow": "mine"}], "--flow FILE.yaml"),
    ],
)
def test_what_is_no_journal_is_refused(
    records: list[object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One message with the remedy, status 2, and nothing is written."""
    journal = write(tmp_path / "call.jsonl", *records)
    assert status(journal) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert str(journal) in printed
    assert "Traceback" not in printed
    assert list(tmp_path.iterdir()) == [journal]


def test_a_missing_journal_or_recording_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its name."""
    assert status(tmp_path / "none.jsonl") == 2
    assert "none.jsonl: no such file or directory" in capsys.readouterr().err
    journal = write(tmp_path / "call.jsonl", HEADER, NOTE)
    assert status(journal, "--audio", tmp_path / "none.wav") == 2
    assert "none.wav: no such file or directory" in capsys.readouterr().err


def test_a_cut_journal_gives_a_page(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its last record is missing, and that is said."""
    journal = write(tmp_path / "call.jsonl", HEADER, NOTE, NOTE | {"seq": 2})
    journal.write_bytes(journal.read_bytes()[:-20])
    assert status(journal) == 0
    assert "cut off" in caplog.text
    assert "cut off" in (tmp_path / "call.html").read_text()


def test_an_output_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file and the reason."""
    journal = write(tmp_path / "call.jsonl", HEADER, NOTE)
    assert status(journal, "-o", tmp_path) == 2
    assert "Is a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("turn", "--live"), "leave --live, --audio and --flow out"),
        (("call.jsonl", "--live", "-o", "page.html"), "leave --audio and --output out"),
        (("none.jsonl", "--live"), "none.jsonl: no such file or folder; name a journal or a"),
        (("none.yaml",), "none.yaml: no such file; name a flow: a shipped one or a .yaml file"),
    ],
)
def test_words_that_do_not_go_together_are_refused(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(*words) == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())


@pytest.mark.parametrize("words", [("call.jsonl", "--live"), ("session",)], ids=["live", "flow"])
def test_a_page_is_served_until_the_user_ends_it(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At the address that is printed; Ctrl-C is no error."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "call.jsonl", HEADER, NOTE)
    served: list[str] = []

    def look_at_it(_seconds: float) -> None:
        address = capsys.readouterr().out.split()[0]
        served.append(address)
        with urlopen(address, timeout=30) as page:
            assert page.read().startswith(b"<!doctype html>")
        raise KeyboardInterrupt

    monkeypatch.setattr("turnfsm.runtime.cli.view.time", SimpleNamespace(sleep=look_at_it))
    assert status(*words, "--port", "0") == 0
    assert len(served) == 1
