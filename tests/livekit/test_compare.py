"""`turnfsm compare`: the evidence, side by side."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from livekit.agents import AgentSession, __version__

from turnfsm.runtime.cli import main
from turnfsm.runtime.compare import CLASSES, CONTROLS, SCENARIOS, as_markdown, compare, comparison
from turnfsm.runtime.livekit import TurnSession

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"


def exit_status(*words: str) -> int | str | None:
    """Run the command in this process."""
    with pytest.raises(SystemExit) as done:
        main(["compare", *words])
    return done.value.code


def test_rows_say_what_was_heard_and_what_was_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON holds both sides: problems of stock, none of ours, and what the user heard."""
    assert exit_status("S12", "--format", "json") == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert (row["id"], row["class"], row["verdict"]) == ("S12", "D", "as described")
    assert "is never heard" in row["stock"]["problems"][0]
    assert row["turnfsm"]["problems"] == []
    assert row["turnfsm"]["heard"][-1]["text"] == "It rains in Rome."


def test_an_id_stands_for_its_kin(capsys: pytest.CaptureFixture[str]) -> None:
    """S2 is all of S2.1 to S2.8; the table names each."""
    assert exit_status("S2") == 0
    printed = capsys.readouterr().out
    assert all(f"S2.{n}" in printed for n in range(1, 9))
    assert "TurnSession: 8 of 8 right" in printed


def test_errors_that_a_scenario_provokes_are_not_printed() -> None:
    """LiveKit logs a traceback where a tool raises; the reader of a table sees none."""
    command = [sys.executable, "-m", "turnfsm.runtime.cli", "compare", "D2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_id_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error is told with what was probably meant."""
    assert exit_status("S1x") == 2
    assert "no scenario 'S1x'; did you mean 'S1'?" in capsys.readouterr().err


def test_a_wrong_row_of_ours_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session class that goes wrong in our place gives exit status 1."""
    monkeypatch.setattr(comparison, "TurnSession", AgentSession)
    assert exit_status("S6b") == 1
    assert "TurnSession: 0 of 1 right" in capsys.readouterr().out


def test_a_failure_that_stock_no_longer_has_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is news, not an error: the exit status stays 0."""
    monkeypatch.setattr(comparison, "AgentSession", TurnSession)
    assert exit_status("S6b") == 0
    assert "S6b: stock no longer fails" in capsys.readouterr().out


def test_every_failure_has_a_class() -> None:
    """Each failing scenario stands under a class of the page, each class has one."""
    letters = {failure.letter for failure in CLASSES}
    assert {s.failure for s in SCENARIOS} == letters
    assert all(not s.failure for s in CONTROLS)


def test_every_failure_says_what_somebody_got_that_was_wrong() -> None:
    """The caller or the application; a control has nothing to say."""
    for failing in SCENARIOS:
        assert re.search(r"\b(caller|application|agent|input)", failing.wrong), failing.id
    assert not any(control.wrong for control in CONTROLS)


def test_every_failure_says_where_it_is_reported() -> None:
    """A row has its reports, or says that none is known; a control is no failure."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "**" in line]
    controls = {s.id for s in CONTROLS}
    for row in rows:
        reported = "](https://github.com/" in row or "no report known" in row
        assert reported != (row.split("**")[1] in controls), row


def test_links_name_an_issue_or_a_pull_request() -> None:
    """A link leads to one thread of a public repository."""
    for link in (link for s in SCENARIOS for link in s.links):
        assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+", link)


def test_the_page_is_fresh() -> None:
    """docs/failures.md is what the command writes today."""
    written = PAGE.read_text(encoding="utf-8")
    if f"livekit-agents {__version__}'s" not in written:
        pytest.skip(f"the page was written with another livekit-agents than {__version__}")
    stale = "run `turnfsm compare --format markdown -o docs/failures.md`"
    assert as_markdown(list(compare((*SCENARIOS, *CONTROLS)))) == written, stale
