"""A session that is started again after its close: what its sinks get."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from livekit.agents import Agent

from turnfsm import JsonlSink, read_journal
from turnfsm.fsm import load_flow
from turnfsm.fsm.journal import replay
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Outcome, Stage


class _List:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []

    def write(self, record: Mapping[str, Any]) -> None:
        self.records.append(record)

    def close(self) -> None:
        self.records.append({"closed": True})


def _twice(sink: Any) -> Outcome:
    """The agent says one sentence in each life."""

    async def again(stage: Stage) -> None:
        session = stage.session
        await session.aclose()
        session.output.audio = stage.output
        await session.start(Agent(instructions="Help once more."))
        session.say("And again.")

    stage = Stage(partial(TurnSession, sinks=[sink]))  # type: ignore[arg-type]
    stage.at(1.0, lambda s: s.session.say("Once.") and None).at(5.0, again)
    return stage.run(12.0)


def test_a_sink_gets_both_runs_of_a_session_that_starts_again() -> None:
    """Everything is closed twice, and nothing of the second life is missing."""
    sink = _List()
    outcome = _twice(sink)
    assert [heard.text for heard in outcome.heard] == ["Once.", "And again."]
    marks = [i for i, r in enumerate(sink.records) if "journal" in r or "closed" in r]
    assert ["journal" in sink.records[i] for i in marks] == [True, False, True, False]
    said = [r["data"]["text"] for r in sink.records if r.get("note") == "message"]
    assert said == ["Once.", "And again."]


def test_each_run_has_a_journal_file_of_its_own(tmp_path: Path) -> None:
    """The second one stands beside the first; both can be read and replayed."""
    (tmp_path / "journal-2.jsonl").write_text("somebody else's")
    _twice(JsonlSink(tmp_path / "journal.jsonl", redact=None))
    for name, text in (("journal.jsonl", "Once."), ("journal-3.jsonl", "And again.")):
        journal = read_journal(tmp_path / name)
        assert [n.data["text"] for n in journal.notes if n.kind == "message"] == [text]
        assert replay(journal, load_flow("turn")) is None
    assert (tmp_path / "journal-2.jsonl").read_text() == "somebody else's"


def test_an_open_text_file_gets_both_runs(tmp_path: Path) -> None:
    """It is the caller's: it is not closed, and written to again."""
    with (tmp_path / "both.txt").open("w+", encoding="utf-8") as file:
        _twice(JsonlSink(file, redact=None))
        file.seek(0)
        text = file.read()
    assert text.count('"journal"') == 2
    assert "And again." in text
