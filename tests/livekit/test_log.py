"""What a session logs: a line for a turn's end, a line for every verdict, and nobody's words."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from turnfsm.livekit import TurnSession
from turnfsm.metrics import measure
from turnfsm.testing import ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

STORY = "Once upon a time there was a king who had three daughters and a horse."


def played() -> Any:
    """A story that is interrupted, and the answer to that."""
    user = ScriptedUser().says("tell me a story", at=1.0).says("stop please", at=6.0)
    model = ScriptedLLM({"story": STORY, "stop": "All right."})
    stage = Stage(TurnSession, user=user, llm=model, tts=ScriptedTTS(durations={STORY: 8.0}))
    stage.run(15.0)
    return stage.session


def test_a_turn_ends_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Outcome and latencies, in words and as fields, as the journal has them."""
    with caplog.at_level(logging.INFO, "turnfsm.turn"):
        figures = measure(played().turn.journal.read())
    lines = [record for record in caplog.records if record.name == "turnfsm.turn"]
    [first, second, closed] = lines
    response, stop = figures.responses[0], figures.stops[0]
    assert first.getMessage() == (
        f"turn 1 replied, response {response:.2f} s, stopped {stop:.2f} s after the user began"
    )
    fields = vars(first)
    assert (fields["outcome"], fields["response_latency"]) == ("replied", response)
    assert fields["stop_latency"] == stop
    assert fields["response_parts"] == dict(figures.turn_ends[0][1].parts)
    assert second.getMessage().startswith("turn 2 replied, response ")
    assert closed.getMessage() == "the session closed: user_initiated; turns: 2 replied"
    assert {line.levelname for line in lines} == {"INFO"}


def test_every_verdict_is_a_line_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    """With its trigger, state, row and reason as fields."""
    with caplog.at_level(logging.DEBUG, "turnfsm.turn"):
        session = played()
    lines = [r for r in caplog.records if r.name == "turnfsm.turn" and r.levelname == "DEBUG"]
    entries = list(session.turn.journal)
    assert [line.seq for line in lines] == [entry.seq for entry in entries]  # type: ignore[attr-defined]
    for line, entry in zip(lines, entries, strict=True):
        fields = vars(line)
        assert line.getMessage() == str(entry.verdict)
        assert (fields["trigger"], fields["state"]) == (entry.trigger, entry.verdict.state)
        assert fields["row"] == getattr(entry.verdict, "row", None)
        assert fields["reason"] == getattr(entry.verdict, "reason", None)


def test_what_people_said_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the lines nor in their fields."""
    with caplog.at_level(logging.DEBUG, "turnfsm.turn"):
        played()
    told = [str(vars(record)) for record in caplog.records if record.name == "turnfsm.turn"]
    assert told
    assert not [line for line in told if "story" in line or "stop please" in line]


def test_without_readers_nothing_is_measured() -> None:
    """Where INFO is not read, the journal has no listener."""
    logging.getLogger("turnfsm.turn").setLevel(logging.WARNING)
    try:
        assert played().turn.journal._listeners == ()
    finally:
        logging.getLogger("turnfsm.turn").setLevel(logging.NOTSET)
