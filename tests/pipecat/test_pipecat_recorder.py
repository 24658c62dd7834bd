"""`FrameRecorder` records a pipeline, and `turnfsm audit` judges the recording."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.pipeline.worker import PipelineWorker
from pipecat_stage import COUGH, moments

from turnfsm.audit import Audit, audit_file, audit_recording, parse_recording
from turnfsm.pipecat import FrameRecorder, TurnGovernor
from turnfsm.runtime.compare import Scenario
from turnfsm.runtime.compare.pipecat import HOST
from turnfsm.runtime.pipecat.requests import text_of
from turnfsm.runtime.testing.pipecat import Messages, Says, Stage, Tool

SCENARIOS = {scene.id: scene for scene in HOST.all}


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is recorded of the pipelines that a test runs."""
    events = io.StringIO()
    make = PipelineWorker.__init__

    def observed(self: PipelineWorker, pipeline: object, **options: object) -> None:
        make(self, pipeline, observers=[FrameRecorder(events)], **options)

    monkeypatch.setattr(PipelineWorker, "__init__", observed)
    return events


def audited(scene: Scenario, governor: type[TurnGovernor] | None, events: io.StringIO) -> Audit:
    scene.build(governor).run(scene.seconds)
    return audit_recording(parse_recording(events.getvalue().encode(), "events.jsonl"))


@pytest.mark.parametrize(
    ("id", "letter", "what"),
    [
        ("C1", "C", "the model is asked without the result of a tool, which had ended"),
        ("C4", "C", "the model is asked without the result of a tool, which had ended"),
        ("E2", "F", "the user speaks for 6.2 s, and nothing is transcribed"),
        ("N4", "D", "the user makes a noise, and a tool is cancelled at that moment"),
        ("N1", "N", "the user makes a noise, and the agent falls silent for good"),
        (
            "N3",
            "N",
            "the user makes a noise, and the answer that the agent was about",
        ),
        ("N11", "N", "the user makes a noise, and the agent falls silent for good"),
        ("T1", "D", "the user begins to speak, and a tool is cancelled at that moment"),
        ("C2", "D", "the result that a tool gave"),
    ],
)
def test_a_failure_of_a_pipeline_is_found(
    id: str, letter: str, what: str, recording: io.StringIO
) -> None:
    found = audited(SCENARIOS[id], None, recording).findings
    assert any(one.failure == letter and one.what.startswith(what) for one in found), found


@pytest.mark.parametrize("right", HOST.controls, ids=lambda s: s.id)
def test_a_pipeline_that_goes_right_raises_no_alarm(
    right: Scenario, recording: io.StringIO
) -> None:
    """In one of them the model fails."""
    found = [finding.what for finding in audited(right, None, recording).findings]
    failing = {"K8": ["the LLM failed (RuntimeError) and was given up"]}
    assert found == failing.get(right.id, [])


@pytest.mark.parametrize("id", ["N1", "N3", "N4", "N9", "T1", "T10", "C1", "C2", "C4", "D4", "T8"])
def test_a_governed_pipeline_raises_no_alarm(id: str, recording: io.StringIO) -> None:
    """Where the pipeline alone does, where the user only coughs, and where a call is refused."""
    assert audited(SCENARIOS[id], TurnGovernor, recording).ok


@pytest.mark.parametrize("id", ["T2", "T5", "T8", "C4", "D4"])
def test_the_messages_of_a_governed_pipeline_are_those_of_the_conversation(
    id: str, recording: io.StringIO
) -> None:
    """Not those of a request, which may have hints, or lack what another reply answers."""
    scene = SCENARIOS[id]
    context = scene.build(TurnGovernor).run(scene.seconds).context
    events = parse_recording(recording.getvalue().encode(), "events.jsonl")
    recorded = [event.text("role") for event in events.named("conversation_item_added")]
    assert recorded == [message["role"] for message in context if text_of(message)]


@pytest.mark.parametrize(
    ("tool", "status"),
    [
        (Tool(1.0, "done"), "done"),
        (Tool(1.0, RuntimeError("no")), "error"),
        (Tool(9.0, "done", {"timeout_secs": 1.0}), "cancelled"),
    ],
)
def test_a_governed_call_ends_in_the_recording_as_it_has_ended(
    tool: Tool, status: str, recording: io.StringIO
) -> None:
    def model(messages: Messages) -> Says:
        return Says(calls=(("book", {}),)) if len(messages) == 1 else Says("Well.")

    Stage(model, {"book": tool}, script=moments((0.0, "please book"))).run(15.0)
    events = parse_recording(recording.getvalue().encode(), "events.jsonl")
    updates = [event.text("status") for event in events.named("tool_execution_updated")]
    assert updates == ["", status]


@pytest.mark.parametrize(("at", "unheard"), [(2.0, True), (2.4, False)])
def test_a_noise_costs_no_answer_once_the_response_has_only_made_calls(
    at: float, unheard: bool, recording: io.StringIO
) -> None:
    """Before, it may have cost one."""

    def model(messages: Messages) -> Says:
        return Says(calls=(("book", {}),)) if len(messages) == 1 else Says("Well.")

    script = moments((0.0, "please book"), (at, COUGH))
    Stage(model, {"book": Tool(3.0, "done")}, governor=None, script=script).run(15.0)
    events = parse_recording(recording.getvalue().encode(), "events.jsonl")
    assert ["unheard" in event.fields for event in events.named("interruption")] == [False, unheard]


def test_a_caller_who_hangs_up_while_a_tool_runs_raises_no_alarm(recording: io.StringIO) -> None:
    """Pipecat cancels the call with the pipeline."""
    SCENARIOS["E1"].build(None).run(8.0)
    audit = audit_recording(parse_recording(recording.getvalue().encode(), "events.jsonl"))
    assert [finding.what for finding in audit.findings] == []
    assert len(audit.spans["tools"]) == 1


def test_the_recording_says_what_it_lacks_and_has_no_words(
    recording: io.StringIO, tmp_path: Path
) -> None:
    """Calls and playout begin and end once, though their frames go up and down the pipeline."""
    audit = audited(SCENARIOS["K3"], None, recording)
    assert "when each reply began and ended (A, D, E)" in audit.unjudged
    assert "order" not in recording.getvalue()
    assert len(audit.spans["tools"]) == 1
    assert recording.getvalue().count("playback_started") == len(audit.spans["agent"])
    assert audit.panel.response_rate == 1.0
    file = tmp_path / "events.jsonl"
    file.write_text(recording.getvalue())
    assert audit_file(file) == audit
