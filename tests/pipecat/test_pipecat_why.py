"""What `turnfsm why` says of the journal of a pipeline."""

import itertools
import time

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat_stage import Stage, moments

from turnfsm import parse_flow
from turnfsm.fsm.metrics.why import explain_at, how_it_ended
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said

SILENCE = """\
flow: asks
extends: turn
silence: [{after: 4, say: Are you still there?}]
"""
CONFIRMS = """\
flow: confirms
extends: turn
tools: {confirm: {book: {say: "Shall I book?"}}}
"""


def _model(messages: Messages) -> Says:
    if "booked" in str(messages[-1].get("content")):
        return Says("It is booked.")
    return Says("Hello.", (("book", {}),) if "book" in said(messages) else ())


@pytest.mark.parametrize(("ends", "reason"), [(True, "ended"), (False, "cancelled")])
def test_the_last_record_of_a_journal_says_how_the_pipeline_has_ended(
    ends: bool, reason: str
) -> None:
    async def script(stage: Stage) -> None:
        await stage.says("hello")
        await stage.until(8.0)
        if ends:  # otherwise the stage cancels the pipeline
            await stage.pushes(f.EndFrame())

    stage = Stage(_model).play(script, seconds=10.0)
    assert stage.governor is not None
    journal = stage.governor.turn.journal.read()
    assert how_it_ended(journal) is None
    assert journal.records[-1].data["reason"] == reason


def test_the_time_until_a_text_is_heard_is_that_of_the_tts() -> None:
    stage = Stage(_model, flow=parse_flow(SILENCE)[0]).play(moments((0.0, "hello")), seconds=10.0)
    assert stage.governor is not None
    begins = stage.when("Are")
    found = explain_at(stage.governor.turn.journal.read(), begins - 0.05)
    assert found is not None
    assert "tts: the first text came at" in "\n".join(found.lines)


def test_the_time_from_the_first_text_of_the_model_is_that_of_the_tts() -> None:
    stage = Stage(_model).play(moments((0.0, "hello")), seconds=6.0)
    assert stage.governor is not None
    found = explain_at(stage.governor.turn.journal.read(), stage.when("Hello") - 0.05)
    assert found is not None
    assert "tts: the first text came at" in "\n".join(found.lines)


def test_the_journal_of_a_stage_has_the_times_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much real time passes until the conversation begins."""
    monkeypatch.setattr(time, "monotonic", itertools.count(step=100.0).__next__)
    stage = Stage(_model).play(moments((2.0, "hello")), seconds=6.0)
    assert stage.governor is not None
    entries = stage.governor.turn.journal.read().entries
    speech = next(entry for entry in entries if entry.trigger == "user_started_speaking")
    assert speech.t == pytest.approx(2.0)


def test_the_silence_after_a_confirmed_call_is_nothing_asked() -> None:
    flow = parse_flow(CONFIRMS)[0]
    stage = Stage(_model, {"book": Tool(1.0, "booked")}, flow=flow).play(
        moments((0.0, "please book ten"), (8.0, "yes please")), seconds=25.0
    )
    assert stage.governor is not None
    assert stage.heard.endswith("It is booked.")
    found = explain_at(stage.governor.turn.journal.read(), 20.0)
    assert found is not None
    assert found.cause == "nothing_asked"
