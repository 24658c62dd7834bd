"""What livekit-agents promises holds with `TurnSession` as it does with `AgentSession`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import av
import pytest
from both import Session, asked_for_weather, listening
from livekit import rtc
from livekit.agents import (
    APIConnectionError,
    telemetry,
)
from livekit.agents.voice import io
from livekit.agents.voice.recorder_io import RecorderIO
from livekit.agents.voice.room_io import RoomIO
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider

from turnfsm.runtime.testing.clock import VirtualLoop
from turnfsm.runtime.testing.livekit import (
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)


def test_an_error_is_published_and_the_session_goes_on(session_class: Session) -> None:
    """error, with its source; the next turn is answered."""
    model = ScriptedLLM(
        {"hello": Reply("", error=APIConnectionError("gone", retryable=False)), "again": "Here."}
    )
    user = ScriptedUser().says("hello", at=1.0).says("again", at=6.0)
    make, errors = listening(session_class, "error")
    stage = Stage(make, user=user, llm=model)  # type: ignore[arg-type]
    outcome = stage.run(10)
    assert [(event.source is model, event.error.recoverable) for event in errors] == [(True, False)]
    assert outcome.heard_saying("Here.") is not None


def test_too_many_errors_close_the_session(session_class: Session) -> None:
    """close, with the reason error, after more of them than the session allows."""
    broken = Reply("", error=APIConnectionError("gone", retryable=False))
    user = ScriptedUser()
    for i in range(5):
        user.says("hello", at=1.0 + 3 * i)
    make, closes = listening(session_class, "close")
    Stage(make, user=user, llm=ScriptedLLM(otherwise=broken)).run(25)  # type: ignore[arg-type]
    assert [event.reason.value for event in closes] == ["error"]


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What livekit-agents reports to OpenTelemetry during the test."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.set_tracer_provider(provider)
    yield exporter
    telemetry.set_tracer_provider(NoOpTracerProvider())


def test_spans_tell_the_turn(session_class: Session, spans: InMemorySpanExporter) -> None:
    """The spans of a turn with a tool, each below the one that it belongs to."""
    asked_for_weather(session_class).run(8)
    ended = spans.get_finished_spans()
    names = {span.context.span_id: span.name for span in ended}
    tree = [
        f"{names[span.parent.span_id] if span.parent else ''}/{span.name}"
        for span in sorted(ended, key=lambda span: (span.start_time or 0, span.name))
    ]
    for wanted, times in {
        "/agent_session": 1,
        "agent_session/user_turn": 1,
        "user_turn/user_speaking": 1,
        "user_turn/on_user_turn_completed": 1,
        "agent_session/agent_turn": 1,
        "agent_turn/llm_node": 2,
        "agent_turn/tts_node": 2,
        "agent_turn/function_tool": 1,
        "agent_turn/agent_speaking": 2,
    }.items():
        assert tree.count(wanted) == times, wanted


def test_metrics_are_collected(session_class: Session) -> None:
    """metrics_collected of each component, session_usage_updated, and the metrics of a message."""
    make, heard = listening(session_class, "metrics_collected", "session_usage_updated")
    outcome = asked_for_weather(make).run(8)
    kinds = [event.metrics.type for event in heard if event.type == "metrics_collected"]
    assert set(kinds) == {"vad_metrics", "eou_metrics", "llm_metrics", "tts_metrics"}
    assert (kinds.count("llm_metrics"), kinds.count("tts_metrics")) == (2, 2)
    assert heard[-1].usage.model_usage
    said = {i.text_content: i.metrics for i in outcome.history.items if i.type == "message"}
    assert said["weather please"]["end_of_turn_delay"] == pytest.approx(0.5)
    assert said["let me see"]["e2e_latency"] == pytest.approx(0.7)
    assert said["It rains."]["llm_node_ttft"] == pytest.approx(0.2)


def test_text_input_gets_text_output(session_class: Session) -> None:
    """Without audio the session answers text with text, and the states follow."""
    shown: list[str] = []

    class Screen(io.TextOutput):
        def __init__(self) -> None:
            super().__init__(label="screen", next_in_chain=None)

        async def capture_text(self, text: str) -> None:
            shown.append(text)

        def flush(self) -> None:
            shown.append("|")

    async def write(stage: Stage) -> None:
        stage.session.input.set_audio_enabled(False)
        stage.session.output.set_audio_enabled(False)
        stage.session.output.transcription = Screen()
        await stage.session.generate_reply(user_input="weather please")

    outcome = asked_for_weather(session_class, user=ScriptedUser()).at(1.0, write).run(8)
    assert "".join(shown) == "let me see|It rains.|"
    assert outcome.heard == []
    assert [state for _, state in outcome.agent_states] == [
        *("listening", "thinking", "speaking", "thinking", "speaking", "listening")
    ]


def test_both_sides_are_recorded(session_class: Session, tmp_path: Path) -> None:
    """LiveKit's recorder, put between the session and its audio, hears the user and the agent."""
    path = tmp_path / "session.ogg"

    class Recorded(Stage):
        def _build(self, origin: float) -> None:
            super()._build(origin)
            self.recorder = recorder = RecorderIO(agent_session=self.session)
            session = self.session
            session.input.audio = recorder.record_input(session.input.audio)  # type: ignore[arg-type]
            session.output.audio = recorder.record_output(session.output.audio)  # type: ignore[arg-type]

    async def begin(stage: Stage) -> None:
        await stage.recorder.start(output_path=path)  # type: ignore[attr-defined]

    async def end(stage: Stage) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        with loop.real_work():  # a thread encodes
            await stage.recorder.aclose()  # type: ignore[attr-defined]

    user = ScriptedUser().says("hello", at=1.0)
    outcome = Recorded(session_class, user=user).at(0.0, begin).at(5.0, end).run(6)
    assert [(h.text, round(h.start, 1)) for h in outcome.heard] == [("I see.", 2.0)]
    with av.open(path) as file:
        (stream,) = file.streams.audio
        seconds = sum(frame.samples / frame.sample_rate for frame in file.decode(stream))
        assert (stream.channels, seconds) == (2, pytest.approx(5.0, abs=0.2))


def test_a_session_takes_its_audio_from_a_room_and_returns_it(session_class: Session) -> None:
    """The session takes its audio from a LiveKit room and gives it back when it closes."""
    seen: list[bool] = []

    class InRoom(Stage):
        async def _perform(self, seconds: float) -> None:
            self._build(asyncio.get_running_loop().time())
            self.session.input.audio = self.session.output.audio = None
            await self.session.start(self._make_agent(), room=rtc.Room())
            seen.append(isinstance(self.session.room_io, RoomIO))
            seen.append(self.session.output.audio is not None)
            seen.append(self.session.input.audio is not None)
            await asyncio.sleep(seconds)
            await self._close([])

    outcome = InRoom(session_class).run(3)
    assert seen == [True, True, True]
    assert outcome.orphans == ()
