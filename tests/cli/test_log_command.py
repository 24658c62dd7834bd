"""`turnfsm log`: every record is a line, and a journal is followed while it is written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from command import run as command_run

HEADER = '{"journal": 1, "flow": "turn", "initial": "listening"}\n'
COMMAND = [sys.executable, "-m", "turnfsm.runtime.cli", "log"]


def entry(seq: int, trigger: str, **more: object) -> str:
    fields: dict[str, object] = {"seq": seq, "t": seq / 2, "trigger": trigger, "of": None}
    fields |= {"state": "listening", "facts": [], "verdict": "taken", "dest": "listening"}
    fields |= {"row": None, "actions": [], "entered": False, "cause": None, "data": {}}
    return json.dumps(fields | more) + "\n"


run = partial(command_run, "log")


def test_each_record_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its time, and the reason of a refusal; `--refused` leaves the rest out."""
    file = tmp_path / "a.jsonl"
    why = {"verdict": "refused", "reason": "guard", "why": "tools_held"}
    note = '{"seq": 3, "t": 1.5, "note": "message", "data": {"role": "user"}}\n'
    text = HEADER + entry(1, "user_started_speaking") + entry(2, "turn_committed", **why) + note
    file.write_text(text)
    assert run(str(file)) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        "    0.500  user_started_speaking: stays listening",
        "    1.000  turn_committed refused in listening: tools_held",
        "    1.500  . message: role='user'",
    ]
    assert run(str(file), "--refused") == 0
    assert capsys.readouterr().out == printed.splitlines()[1] + "\n"


def test_a_journal_is_followed(tmp_path: Path) -> None:
    """What is written is printed at once, half a line when it is whole; Ctrl-C is no error."""
    file = tmp_path / "a.jsonl"
    file.write_text(HEADER + entry(1, "user_started_speaking"))
    with subprocess.Popen(
        [*COMMAND, str(file), "-f"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts what runs in the background with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert b"user_started_speaking" in process.stdout.readline()
        later = entry(2, "user_stopped_speaking")
        for part in (later[:30], later[30:]):
            with file.open("a") as journal:
                journal.write(part)
        assert b"user_stopped_speaking" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=20)
    assert (process.returncode, error) == (0, b"")


def test_log_ends_when_its_reader_goes_away(tmp_path: Path) -> None:
    """`turnfsm log -f | head -1` does not run on."""
    file = tmp_path / "a.jsonl"
    file.write_text(HEADER + entry(1, "user_started_speaking"))
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [*COMMAND, str(file), "-f"],
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=20,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty; name a journal (JSON lines)"),
        ("hello", ":1: not JSON"),
        ('{"a": 1}\n', ":1: not a journal"),
        ('{"journal": 2, "flow": "turn", "initial": "a"}\n', "journal version 2"),
        (HEADER + "nonsense\n" + entry(1, "reply"), ":2: not JSON"),
    ],
)
def test_a_file_that_is_no_journal_is_reported_in_one_line(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file, the line and the remedy."""
    file = tmp_path / "a.jsonl"
    file.write_text(text)
    assert run(str(file)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert run(str(tmp_path)) == 2
    assert "name a journal that can be read" in capsys.readouterr().err


def test_a_timer_that_stays_due_is_no_refusal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is an event that a state ignores."""
    file = tmp_path / "a.jsonl"
    header = HEADER.replace("}", ', "timers": {"noise_limit": 4.0}}')
    guard = {"verdict": "refused", "reason": "guard", "why": "user_speaking"}
    ignored = {**guard, "reason": "ignores"}
    text = entry(1, "noise_limit", **guard) + entry(2, "tool_ended", **ignored)
    file.write_text(header + text + entry(3, "reply", **guard))
    assert run(str(file), "--refused") == 0
    assert capsys.readouterr().out.split()[1:3] == ["reply", "refused"]


def test_a_cut_end_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """What is whole is printed."""
    file = tmp_path / "a.jsonl"
    file.write_text(HEADER + entry(1, "reply") + entry(2, "reply")[:-30])
    assert run(str(file)) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert "the last record was cut off" in caplog.text
