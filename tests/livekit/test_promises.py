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
    Agent,
    APIConnectionError,
    StopResponse,
    llm,
    mock_tools,
    telemetry,
)
from livekit.agents.voice import events, io
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


def test_states_and_transcripts_are_published(session_class: Session) -> None:
    """user_state_changed, agent_state_changed and user_input_transcribed, at their times."""
    outcome = asked_for_weather(session_class).run(8)
    assert outcome.user_states == [(1.05, "speaking"), (1.85, "listening")]
    assert outcome.agent_states == [
        *((0.0, "listening"), (2.1, "thinking"), (2.3, "speaking")),
        *((3.22, "thinking"), (3.62, "speaking"), (4.24, "listening")),
    ]
    stt = [event.what for event in outcome.events if event.lane == "stt"]
    assert stt == ["final: weather please"]


def test_items_tools_speeches_and_the_close_are_published(session_class: Session) -> None:
    """conversation_item_added, function_tools_executed, speech_created, close; no error."""
    names = ("conversation_item_added", "function_tools_executed", "speech_created", "close")
    make, heard = listening(session_class, *names, "error")
    asked_for_weather(make).run(8)
    told = []
    for event in heard:
        match event:
            case events.ConversationItemAddedEvent(item=llm.ChatMessage() as item):
                told.append(f"{item.role}: {item.text_content}")
            case events.FunctionToolsExecutedEvent():
                told.append(f"tools: {[out.output for out in event.function_call_outputs]}")
            case events.SpeechCreatedEvent():
                told.append(f"speech by {event.source}")
            case events.CloseEvent():
                told.append(f"close: {event.reason.value}")
    assert told == [
        *("speech by generate_reply", "user: weather please", "assistant: let me see"),
        *("tools: ['rain']", "assistant: It rains.", "close: user_initiated"),
    ]


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


def test_a_user_who_is_silent_is_away(session_class: Session) -> None:
    """user_state_changed to away once nobody has spoken for the declared time, and back."""
    user = ScriptedUser().says("weather please", at=1.0).says("thanks", at=20.0)
    outcome = asked_for_weather(session_class, user=user, user_away_timeout=10.0).run(25)
    states = [(round(at, 2), state) for at, state in outcome.user_states]
    assert states[:3] == [(1.05, "speaking"), (1.85, "listening"), (14.24, "away")]
    assert [state for _, state in states[3:5]] == ["speaking", "listening"]


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


def test_a_run_can_be_judged(session_class: Session) -> None:
    """Evals: `RunResult.expect` finds the call, its output and the message, in order."""
    seen: list[str] = []

    async def judge(stage: Stage) -> None:
        with mock_tools(Agent, {"look_up": lambda: "sunshine"}):
            result = await stage.session.run(user_input="weather please")
        result.expect.next_event().is_message(role="assistant")
        result.expect.next_event().is_function_call(name="look_up", arguments={})
        result.expect.next_event().is_function_call_output(output="sunshine", is_error=False)
        result.expect.next_event().is_message(role="assistant")
        result.expect.no_more_events()
        seen.append("judged")

    asked_for_weather(session_class, user=ScriptedUser()).at(1.0, judge).run(10)
    assert seen == ["judged"]


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


def test_a_hook_may_stop_the_response(session_class: Session) -> None:
    """`StopResponse` from `on_user_turn_completed`: the turn is not answered, the next one is."""

    class Picky(Agent):
        def __init__(self) -> None:
            super().__init__(instructions="Help.")

        async def on_user_turn_completed(
            self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
        ) -> None:
            if "weather" in (new_message.text_content or ""):
                raise StopResponse

    user = ScriptedUser().says("weather please", at=1.0).says("thanks", at=5.0)
    outcome = asked_for_weather(session_class, user=user, agent=Picky).run(10)
    assert [h.text for h in outcome.heard] == ["You are welcome."]


def test_manual_turns_are_answered_only_when_committed(session_class: Session) -> None:
    """Push to talk: nothing is answered before `commit_user_turn`, nothing after a clear."""
    user = ScriptedUser().says("weather please", at=1.0).says("thanks", at=5.0)
    stage = asked_for_weather(session_class, user=user, turn_handling={"turn_detection": "manual"})
    stage.at(3.0, lambda stage: stage.session.clear_user_turn())
    stage.at(7.0, lambda stage: stage.session.commit_user_turn() and None)
    outcome = stage.run(12)
    assert [h.text for h in outcome.heard] == ["You are welcome."]


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
