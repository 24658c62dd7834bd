"""`turnfsm compare`: the evidence, side by side."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import failures
import pytest
from attrs import evolve
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.cli import main
from turnfsm.runtime.compare import as_markdown, livekit
from turnfsm.runtime.compare.livekit import HOST
from turnfsm.runtime.compare.scenario import Compared, Side

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


def test_an_id_selects_all_its_variants(capsys: pytest.CaptureFixture[str]) -> None:
    """S2s is all of S2s.1 to S2s.8; the table names each."""
    assert exit_status("S2s") == 0
    printed = capsys.readouterr().out
    assert all(f"S2s.{n}" in printed for n in range(1, 9))
    assert "TurnSession: 8 of 8 right" in printed


def test_errors_that_a_scenario_provokes_are_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """LiveKit logs a traceback when a loop ends while a tool runs; the table does not show it."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as a process has none
    HOST.scenario("D1").play(AgentSession)
    assert "Traceback" in capsys.readouterr().err
    assert exit_status("D1") == 0
    assert capsys.readouterr().err == ""


def test_an_unknown_id_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error is told with what was probably meant."""
    assert exit_status("S1x") == 2
    assert "no scenario 'S1x'; did you mean 'S1'?" in capsys.readouterr().err


def test_a_wrong_row_of_ours_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session class that goes wrong in our place gives exit status 1."""
    monkeypatch.setattr(livekit, "HOST", evolve(HOST, ours=evolve(HOST.ours, session=AgentSession)))
    assert exit_status("S6b") == 1
    assert "TurnSession: 0 of 1 right" in capsys.readouterr().out


def test_a_failure_that_stock_no_longer_has_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is news, not an error: the exit status stays 0."""
    monkeypatch.setattr(
        livekit, "HOST", evolve(HOST, stock=evolve(HOST.stock, session=TurnSession))
    )
    assert exit_status("S6b") == 0
    assert "S6b: stock no longer fails" in capsys.readouterr().out


def test_every_failure_has_a_class() -> None:
    """Each failing scenario stands under a class of the page, each class has one."""
    letters = {failure.letter for failure in HOST.classes}
    assert {s.failure for s in HOST.scenarios} == letters
    assert all(not s.failure for s in HOST.controls)


def test_every_failure_says_what_somebody_got_that_was_wrong() -> None:
    """The caller or the application; a control has nothing to say."""
    for failing in HOST.scenarios:
        assert re.search(r"\b(caller|application|agent|input)", failing.wrong), failing.id
    assert not any(control.wrong for control in HOST.controls)


def test_every_failure_says_where_it_is_reported() -> None:
    """A row has its reports, or says that none is known; a control is no failure."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "**" in line]
    controls = {s.id for s in HOST.controls}
    for row in rows:
        reported = "](https://github.com/" in row or "no report known" in row
        assert reported != (row.split("**")[1] in controls), row


def test_links_name_an_issue_or_a_pull_request() -> None:
    """A link leads to one thread of a public repository."""
    for link in (link for s in HOST.scenarios for link in s.links):
        assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+", link)


def test_the_page_has_every_scenario_in_its_place() -> None:
    """docs/failures.md, but for what was heard: each scenario's own tests hold that."""
    rows = [Compared(s, Side((), () if s.control else ("",)), Side((), ())) for s in failures.ALL]
    assert _frame(as_markdown(HOST, rows)) == _frame(failures.page()), failures.STALE


def _frame(page: str) -> list[str]:
    return [failures.head_of(line) if "| **" in line else line for line in page.splitlines()]
