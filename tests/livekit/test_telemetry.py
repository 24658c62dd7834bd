"""A session in OpenTelemetry: the journal's own figures, events on LiveKit's spans, a scrape."""

from __future__ import annotations

import json
import re
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from livekit.agents import ToolError, function_tool, telemetry
from opentelemetry import trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from scripted_tool import tool

from turnfsm import TurnfsmError, read_journal, write_journal
from turnfsm.livekit import Telemetry, TurnSession
from turnfsm.metrics import CAUSES, INSTRUMENTS, measurements_of
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

STORY = "Once upon a time there was a king who had three daughters and a horse."
DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana" / "turnfsm.json"


def played(setting: bool | Telemetry) -> TurnSession[Any]:
    """A slow answer, a false interruption and a real one, with telemetry set so."""

    class Session(TurnSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(telemetry=setting, **options)

    user = ScriptedUser().says("tell me a story", at=1.0)
    user.makes_noise(at=8.0, duration=0.8).says("stop please", at=13.0)
    model = ScriptedLLM({"story": Reply(STORY, ttft=3.0), "stop": "All right."})
    stage = Stage(Session, user=user, llm=model, tts=ScriptedTTS(durations={STORY: 9.0}))
    stage.run(22.0)
    session: Any = stage.session
    assert isinstance(session, TurnSession)
    return session


def exported(reader: InMemoryMetricReader) -> dict[str, dict[tuple[tuple[str, str], ...], Any]]:
    """Every instrument's points, by labels: the sum of a counter, count and sum of a histogram."""
    found: dict[str, dict[tuple[tuple[str, str], ...], Any]] = {}
    data = reader.get_metrics_data()
    assert data is not None
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            assert scope.scope.name == "turnfsm"
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    labels = tuple(sorted((str(k), str(v)) for k, v in point.attributes.items()))
                    value = getattr(point, "value", None)
                    got = (point.count, point.sum) if value is None else value  # type: ignore[union-attr]
                    found.setdefault(metric.name, {})[labels] = got
    return found


def test_the_figures_are_those_of_the_journal(tmp_path: Path) -> None:
    """Recomputed from the file, every count and every sum is equal to the last digit."""
    reader = InMemoryMetricReader()
    session = played(Telemetry(MeterProvider([reader])))
    write_journal(tmp_path / "a.jsonl", session.turn.journal.read())
    kinds = {instrument.name: instrument.kind for instrument in INSTRUMENTS}
    expected: dict[str, dict[Any, Any]] = defaultdict(dict)
    for one in measurements_of(read_journal(tmp_path / "a.jsonl")):
        points = expected[one.name]
        if kinds[one.name] == "counter":
            points[one.labels] = points.get(one.labels, 0) + one.value
        else:
            count, total = points.get(one.labels, (0, 0.0))
            points[one.labels] = (count + 1, total + one.value)
    assert exported(reader) == expected
    assert {"turnfsm.turn.response.latency", "turnfsm.silence.duration"} <= set(expected)
    assert expected["turnfsm.interruptions"] == {
        (("outcome", "interrupted"),): 1,
        (("outcome", "resumed"),): 1,
    }


def test_no_label_is_an_id() -> None:
    """Labels are names of the flow and a few words."""
    reader = InMemoryMetricReader()
    session = played(Telemetry(MeterProvider([reader])))
    flow = session.turn.flow
    known = {*flow.states, *flow.triggers, *flow.timers, *CAUSES, "interrupted", "resumed"}
    known |= {"replied", "user", "agent", "agent_heard", "user_initiated"}
    points = exported(reader).values()
    assert {value for p in points for labels in p for _, value in labels} <= known


def test_without_telemetry_nothing_is_done() -> None:
    """The journal has no listener, and nothing is exported."""
    reader = InMemoryMetricReader()
    MeterProvider([reader])
    session = played(False)
    assert session.turn.journal._listeners == ()
    assert reader.get_metrics_data() is None


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What LiveKit traces."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.set_tracer_provider(provider)
    yield exporter
    telemetry.set_tracer_provider(trace.get_tracer_provider())  # type: ignore[arg-type]


def events_of(exporter: InMemorySpanExporter) -> list[tuple[str, Any]]:
    """Our events with the name of their span."""
    return [
        (span.name, event)
        for span in exporter.get_finished_spans()
        for event in span.events
        if event.name.startswith("turnfsm.")
    ]


def test_transitions_are_events_of_livekits_spans(spans: InMemorySpanExporter) -> None:
    """With trigger, state and row; the pause stands on the turn that it paused."""
    session = played(Telemetry(MeterProvider()))
    found = events_of(spans)
    rows = {event.attributes["turnfsm.row"] for _, event in found if "row" in str(event.attributes)}
    assert {"speaking.barge_in.0", "paused.final_transcript.0"} <= rows
    paused = "speaking.barge_in.0"
    on = [span for span, event in found if event.attributes.get("turnfsm.row") == paused]
    assert on == ["agent_turn", "agent_turn"]
    told = {event.attributes["turnfsm.seq"] for _, event in found}
    moved = [e.seq for e in session.turn.journal if e.verdict.entered]
    assert len(told & set(moved)) > 10


def test_what_people_said_is_in_no_event_unless_asked(spans: InMemorySpanExporter) -> None:
    """`Telemetry(text=True)` asks."""
    played(Telemetry(MeterProvider()))
    assert "story" not in str([event.attributes for _, event in events_of(spans)])
    spans.clear()
    played(Telemetry(MeterProvider(), text=True))
    texts = [event.attributes.get("turnfsm.text") for _, event in events_of(spans)]
    assert "tell me a story" in texts


def test_refusals_are_events_with_their_reason(spans: InMemorySpanExporter) -> None:
    """Trigger, state, reason and the sentence."""

    class Session(TurnSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(telemetry=Telemetry(MeterProvider()), **options)

    def announce(stage: Stage) -> None:
        stage.session.say(STORY, allow_interruptions=False)

    user = ScriptedUser().says("what now", at=2.0)
    stage = Stage(
        Session,
        user=user,
        llm=ScriptedLLM({"now": "Yes."}),
        turn_handling={"interruption": {"discard_audio_if_uninterruptible": False}},
    )
    stage.at(0.5, announce).run(12.0)
    refused = [e.attributes for _, e in events_of(spans) if e.name == "turnfsm.refused"]
    assert any(
        (a["turnfsm.trigger"], a["turnfsm.state"], a["turnfsm.reason"])
        == ("turn_committed", "speaking", "guard")
        for a in refused
    )


def test_prometheus_scrapes_what_the_dashboard_shows() -> None:
    """Over HTTP: every series that a panel of the dashboard asks for is there."""
    registry = prometheus_client.CollectorRegistry()
    reader = PrometheusMetricReader(registry=registry)
    played(Telemetry(MeterProvider([reader])))
    server, thread = prometheus_client.start_http_server(0, "127.0.0.1", registry)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as response:
            scraped = response.read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert "turnfsm_turn_response_latency_seconds_bucket{" in scraped
    assert "turnfsm_turns_total{" in scraped
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    asked = {
        name for p in panels for t in p["targets"] for name in re.findall(r"turnfsm_\w+", t["expr"])
    }
    names = {
        instrument.name.replace(".", "_")
        + ("_total" if instrument.kind == "counter" else "_seconds")
        for instrument in INSTRUMENTS
    }
    bases = {re.sub(r"_(bucket|count|sum)$", "", name) for name in asked}
    assert bases <= names
    assert bases >= {"turnfsm_turn_response_latency_seconds", "turnfsm_turns_total"}
    seen = {line.split("{")[0] for line in scraped.splitlines() if line.startswith("turnfsm_")}
    never = {"turnfsm_tool_calls_total", "turnfsm_refusals_total", "turnfsm_blips_total"}
    never |= {"turnfsm_component_failures_total", "turnfsm_audio_stopped_total"}
    assert {name for name in asked if name not in seen} <= never


@pytest.mark.parametrize("wrong", ["yes", 1, object()])
def test_telemetry_of_another_kind_is_refused(wrong: Any) -> None:
    """With what to give."""
    with pytest.raises(TurnfsmError, match=r"give True, False or Telemetry"):
        TurnSession(telemetry=wrong)


def test_tool_calls_and_blips_are_counted() -> None:
    """By how a call ended; a reply that is cut as it begins is a blip."""
    book = tool("book", "booked")

    @function_tool
    async def fail() -> str:
        """Fail."""
        raise ToolError("no")

    reader = InMemoryMetricReader()
    session = partial(TurnSession, telemetry=Telemetry(MeterProvider([reader])))
    calls = Reply(calls=[Call("book"), Call("fail")])
    user = ScriptedUser().says("book it", at=1.0).says("no tell me more", at=6.0)
    model = ScriptedLLM({"book": calls, "more": STORY}, otherwise="Done.")
    stage = Stage(session, user=user, llm=model, tools=[book, fail])  # type: ignore[arg-type]
    stage.at(8.5, lambda stage: stage.session.interrupt(force=True) and None)
    stage.run(12.0)
    points = exported(reader)
    assert points["turnfsm.tool.calls"] == {(("end", "error"),): 1, (("end", "result"),): 1}
    assert points["turnfsm.blips"] == {(): 1}
