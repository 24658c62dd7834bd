"""The main job, typed: what it leaves, when it fails, what bad input gets."""

import io
import json
import signal
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command import run
from rich.console import Console

from turnfsm.fsm import TurnfsmError, load_flow
from turnfsm.fsm.journal import read_journal, replay
from turnfsm.runtime.demo.expected import EXPECTED
from turnfsm.runtime.demo.main import Settings, demo
from turnfsm.runtime.demo.view import Lines

WITHOUT_GUARD = """\
flow: bug
is: The shipped turn without the guard against speculation while a tool runs.
extends: turn
states:
  tool_running:
    on:
      preemptive_generation: {actions: [start_preemptive_generation]}
"""
NAMES = ["conversation.html", "journal.jsonl", "timeline.svg", "transcript.txt"]


def typed(out: Path, **settings: Any) -> tuple[int, str]:
    """Run the typed conversation: exit status and what was printed."""
    printed = io.StringIO()
    console = Console(file=printed, width=200)
    status = demo(Settings(out=out, text=True, console=console, **settings))
    return status, printed.getvalue()


def verdicts(printed: str) -> dict[str, str]:
    """Each judged point and the word before it."""
    lines = (line.split(maxsplit=2) for line in printed.splitlines())
    return {line[1]: line[0] for line in lines if line and line[0] in ("ok", "FAIL", "skip")}


def test_typed_conversation_goes_as_declared(tmp_path: Path) -> None:
    """Everything is judged, nothing fails, and the evidence is there and can be read."""
    out = tmp_path / "out"
    status, printed = typed(out)
    judged = verdicts(printed)
    assert status == 0, printed
    assert {name for name, word in judged.items() if word != "ok"} == {"agent_audible"}
    assert {expectation.name for expectation in EXPECTED} < judged.keys()
    assert sorted(path.name for path in out.iterdir()) == NAMES
    journal = read_journal(out / "journal.jsonl")
    assert journal.damage is None
    assert replay(journal, load_flow("overlap")) is None
    assert "heavy" not in (out / "journal.jsonl").read_text()  # what was said stays off the disk
    assert "heavy" in (out / "timeline.svg").read_text()
    assert ET.fromstring((out / "timeline.svg").read_text()).tag.endswith("svg")
    told = (out / "transcript.txt").read_text()
    assert "user   Is it heavy?\n" in told
    assert "agent  There it is: on the top shelf, and it is very light.\n" in told
    assert "tool   drive(meters=-10): done\n" in told
    assert "[interrupted]" in told


def test_typed_lines_are_transcribed_as_spoken_ones_are(tmp_path: Path) -> None:
    """With the default flow the backchannel has a transcript, and no turn; a laugh has none."""
    typed(tmp_path)
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    at = {r["data"]["name"]: r["t"] for r in records if r.get("note") == "line"}
    shown = [r["t"] for r in records if r.get("trigger") == "interim_transcript"]
    assert any(at["backchannel"] < t < at["barge_in"] for t in shown)
    assert not any(t > at["noise"] for t in shown)


def test_the_flow_turn_is_not_expected_to_talk_through(tmp_path: Path) -> None:
    status, printed = typed(tmp_path, flow="turn")
    assert status == 0, printed
    assert verdicts(printed)["talked_through"] == "skip"


def test_plain_lines_tell_refusals_with_their_reason(tmp_path: Path) -> None:
    """Who reads a log sees states, what was refused and why, and what was said."""
    _, printed = typed(tmp_path / "out")
    assert "refused preemptive_generation in tool_running: tool_running refuses it" in printed
    assert "state   paused (from speaking, barge_in)" in printed
    assert "agent  I am back at the dock." in printed
    assert "\x1b" not in printed


def test_flow_without_the_guard_fails(tmp_path: Path) -> None:
    """The flow decides: with its guard taken out the bug is back, and the demo says so."""
    flow = tmp_path / "bug.yaml"
    flow.write_text(WITHOUT_GUARD)
    status, printed = typed(tmp_path / "out", flow=str(flow))
    failed = {name for name, word in verdicts(printed).items() if word == "FAIL"}
    assert status == 1
    assert failed == {
        "no_speculation",
        "speculation_refused",
        "model_asked_once",
        "pending_result_heard",
    }
    assert "must not be: 13.60 s preemptive_generation taken in tool_running" in printed


def test_next_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    """What an earlier run left is replaced, its sound too, which the typed one does not have."""
    for name in ("journal.jsonl", "conversation.wav", "transcript.txt"):
        (tmp_path / name).write_text("old")
    assert typed(tmp_path)[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES
    assert "old" not in {path.read_text() for path in tmp_path.iterdir()}


def test_missing_extra_leaves_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the models there is one clear error, and the evidence of an earlier run stays."""
    (tmp_path / "journal.jsonl").write_text("old")
    monkeypatch.setitem(sys.modules, "moonshine_voice", None)
    with pytest.raises(TurnfsmError, match=r"pip install 'turnfsm\[demo\]'"):
        demo(Settings(out=tmp_path, console=Console(file=io.StringIO())))
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]
    assert (tmp_path / "journal.jsonl").read_text() == "old"


def test_unknown_flow_makes_no_folder(tmp_path: Path) -> None:
    """A flow that is not there is found out before anything is written."""
    with pytest.raises(TurnfsmError, match="did you mean 'turn'"):
        typed(tmp_path / "out", flow="trun")
    assert not (tmp_path / "out").exists()


def test_a_flow_that_cannot_govern_a_conversation_is_refused(tmp_path: Path) -> None:
    """A flow that lacks what the binding reports is refused with the remedy."""
    with pytest.raises(TurnfsmError, match=r"lacks the trigger .*'barge_in'.*extends: turn"):
        typed(tmp_path / "out", flow="session")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("speed", ["0", "5"])
def test_speed_has_limits(speed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the models cannot follow is refused."""
    assert run("demo", "--speed", speed, "--out", str(tmp_path)) == 2
    assert "--speed" in capsys.readouterr().err


def test_command_ends_with_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`turnfsm demo --text` is this run; a typed one takes no speed."""
    assert run("demo", "--text", "--out", str(tmp_path / "out")) == 0
    assert "transcript.txt" in capsys.readouterr().out
    assert run("demo", "--text", "--speed", "2", "--out", str(tmp_path / "out")) == 2


def test_interrupt_keeps_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in mid-conversation: exit 130, and the evidence so far is there."""
    write = Lines.write

    def interrupt(self: Lines, record: Mapping[str, Any]) -> None:
        write(self, record)
        if record.get("note") == "line" and record["data"]["name"] == "question":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Lines, "write", interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" ignores it
    try:
        status, printed = typed(tmp_path / "out")
    finally:
        signal.signal(signal.SIGINT, before)
    assert status == 130
    assert "interrupted" in printed
    assert verdicts(printed) == {}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == NAMES
    told = (tmp_path / "out" / "transcript.txt").read_text()
    assert "Is it heavy?" in told
    assert "Stop, please stop now." not in told
    assert read_journal(tmp_path / "out" / "journal.jsonl").damage is None
