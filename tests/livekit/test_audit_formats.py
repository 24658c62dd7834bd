"""`turnfsm audit` reads what LiveKit writes: session reports and spans."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command import run
from livekit.agents import AgentSession, telemetry
from livekit.agents.voice.report import SessionReport
from opentelemetry import trace
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnfsm.audit import Audit, audit_file
from turnfsm.runtime.cli import main
from turnfsm.runtime.compare import Scenario
from turnfsm.runtime.compare.livekit import HOST


@cache  # several tests look at the same conversation
def report_of(played: Scenario) -> str:
    """The file that LiveKit writes after a session."""
    sessions: list[AgentSession[Any]] = []

    class Kept(AgentSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            sessions.append(self)

    Kept.__signature__ = inspect.signature(AgentSession)  # type: ignore[attr-defined]
    played.play(Kept)
    [session] = sessions
    report = SessionReport(
        job_id="job",
        room_id="RM_1",
        room="room",
        options=session.options,
        events=session._recorded_events,
        chat_history=session.history,
    )
    return json.dumps(report.to_dict(), indent=2)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What livekit-agents exports, in the time of the conversation."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(sdk, "time_ns", lambda: int(time.time() * 1e9))
    telemetry.set_tracer_provider(provider)
    yield exporter
    telemetry.set_tracer_provider(trace.get_tracer_provider())  # type: ignore[arg-type]


def audited(file: Path, text: str) -> Audit:
    file.write_text(text)
    return audit_file(file)


def spans_of(played: Scenario, exporter: InMemorySpanExporter) -> str:
    played.play(AgentSession)
    return "".join(span.to_json(indent=None) + "\n" for span in exporter.get_finished_spans())


def unjudged(audit: Audit) -> set[str]:
    """The letters that the audit says it cannot judge."""
    named = (line.rpartition("(")[2].rstrip(")") for line in audit.unjudged)
    return {name for names in named for name in names.split(", ")}


TOO_SHORT = "S13"
"""An utterance of 1.2 s. In a recording it lasts 1.4 s, with the silence that the VAD waits for."""

NOT_SEEN = {"S4c", "S5-wait", "R4", TOO_SHORT}
"""Failures that no event shows."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("failing", HOST.scenarios, ids=lambda s: s.id)
def test_a_report_shows_a_failure_or_the_audit_says_that_it_cannot(
    failing: Scenario, tmp_path: Path
) -> None:
    audit = audited(tmp_path / "session_report.json", report_of(failing))
    assert audit.of == "report"
    named = {finding.failure for finding in audit.findings}
    if failing.id not in NOT_SEEN:
        assert failing.failure in named | unjudged(audit)


@pytest.mark.parametrize(("id", "letter"), [("S5-turn", "D"), ("S3", "B"), ("S6", "F")])
def test_a_report_shows_what_its_events_say(id: str, letter: str, tmp_path: Path) -> None:
    """With the flow's decision there."""
    audit = audited(tmp_path / "session_report.json", report_of(HOST.scenario(id)))
    [finding] = [one for one in audit.findings if one.failure == letter]
    assert finding.decision is not None
    assert finding.decision.file == "turn.yaml"


@pytest.mark.parametrize("id", ["G", "H"])
def test_a_report_has_the_order_of_messages_and_the_published_states(
    id: str, tmp_path: Path
) -> None:
    """Playout begins and ends as the metrics of the messages say."""
    for failing in (one for one in HOST.scenarios if one.failure == id):
        audit = audited(tmp_path / "session_report.json", report_of(failing))
        assert id in {finding.failure for finding in audit.findings}


FAILING = {
    "P2": ["the TTS failed (error unknown) and was given up"],
    "P3": ["the LLM failed (error unknown) and was given up"],
}
"""What fails in a scenario. A report does not name the error."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("right", HOST.controls, ids=lambda s: s.id)
def test_the_report_of_what_goes_right_raises_no_alarm(right: Scenario, tmp_path: Path) -> None:
    audit = audited(tmp_path / "session_report.json", report_of(right))
    assert [finding.what for finding in audit.findings] == FAILING.get(right.id, [])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("right", HOST.controls, ids=lambda s: s.id)
def test_the_spans_of_what_goes_right_raise_no_alarm(
    right: Scenario, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    """They do not say when a result was added, so no request is said to lack it."""
    audit = audited(tmp_path / "spans.jsonl", spans_of(right, exporter))
    assert audit.findings == ()
    assert {"C", "F", "outages"} <= unjudged(audit)


def test_the_command_says_what_it_cannot_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reason."""
    file = tmp_path / "session_report.json"
    file.write_text(report_of(HOST.scenario("S5-turn")))
    with pytest.raises(SystemExit):
        main(("audit", str(file)))
    printed = capsys.readouterr().out
    assert "session_report.json (report): 1 finding\n" in printed
    assert "as the file does not say when the model was asked (A, C, D); when each reply" in printed


def test_a_report_without_events_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = json.loads(report_of(HOST.scenario("C1")))
    del report["events"]
    file = tmp_path / "session_report.json"
    file.write_text(json.dumps(report))
    assert run("audit", str(file)) == 2
    assert "a session report without events; write report.to_dict()" in capsys.readouterr().err
