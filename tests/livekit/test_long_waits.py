"""A wait that takes long is reported, and goes on. Limits are chosen."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, AgentTask, function_tool
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from scripted_tool import tool

from turnfsm.fsm import UnknownName, load_flow
from turnfsm.fsm.metrics.measuring import values_of
from turnfsm.fsm.metrics.values import LongWait
from turnfsm.livekit import Telemetry, TurnSession
from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

ASKED = "book a table"
BOOKED = "It is booked."


def _stage(**parts: Any) -> tuple[Stage, list[Any]]:
    """The user asks for a table at 1 s; the list gets the waits that are reported."""
    waits: list[Any] = []
    stage = Stage(TurnSession, **{"user": ScriptedUser().says(ASKED, at=1.0)} | parts)
    stage.at(0.0, lambda s: s.session.on("turn_waits_long", waits.append) and None)  # type: ignore[arg-type]
    return stage, waits


def _booking(tool: Any) -> dict[str, Any]:
    model = ScriptedLLM({"book": Reply(calls=Call("book"))}, {"book": BOOKED})
    return {"llm": model, "tools": [tool]}


def _slow(seconds: float) -> Any:
    return tool("book", "booked", seconds=seconds)


def _reports(waits: list[Any]) -> list[tuple[str, int, bool]]:
    return [(wait.cause, round(wait.seconds), wait.ended) for wait in waits]


class _Approval(AgentTask[str]):
    """Asks the user, who is silent, until the application decides."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for an approval.")

    async def on_enter(self) -> None:
        self.session.say("Shall I?")
        await asyncio.sleep(0)

        async def approved() -> None:
            await asyncio.sleep(480.0)
            self.complete("approved")

        self._approved = asyncio.ensure_future(approved())


@function_tool
async def approve() -> str:
    """Have it approved."""
    return await _Approval()


def test_a_task_that_waits_for_a_human_is_not_given_up() -> None:
    """An approval: its turn waits for it, and its result is said."""
    model = ScriptedLLM({"book": Reply(calls=Call("approve"))}, {"approve": BOOKED})
    stage, _ = _stage(llm=model, tools=[approve])
    outcome = stage.run(740.0)
    assert [run.status for run in outcome.tools] == ["done"], outcome.timeline()
    assert outcome.heard_saying(BOOKED) is not None
    assert not any("limit" in text for _, text in outcome.warnings), outcome.warnings


def test_a_tool_that_takes_long_is_reported_each_time_that_it_has_doubled() -> None:
    """Twelve minutes are nine reports, and the end; it is no warning, and the result is said."""
    stage, waits = _stage(**_booking(_slow(720.0)))
    outcome = stage.run(740.0)
    seconds = [5, 10, 20, 40, 80, 160, 320, 640, 720]
    assert _reports(waits) == [("tool_running", s, s == 720) for s in seconds]
    assert {wait.names for wait in waits} == {("book (call_1)",)}
    assert len({wait.since for wait in waits}) == 1
    assert waits[0].since == pytest.approx(2.2, abs=0.2)
    assert outcome.warnings == []
    assert [run.status for run in outcome.tools] == ["done"], outcome.timeline()
    assert outcome.heard_saying(BOOKED) is not None


@pytest.mark.parametrize(("seconds", "reported"), [(4.5, []), (12.0, [5, 10, 12])])
def test_a_model_that_gives_nothing_is_reported_at_5_s(seconds: float, reported: list[int]) -> None:
    """And waited for, as on AgentSession."""
    stage, waits = _stage(llm=ScriptedLLM({"book": Reply(BOOKED, ttft=seconds)}))
    outcome = stage.run(25.0)
    assert _reports(waits) == [("model", s, s == reported[-1]) for s in reported]
    assert outcome.heard_saying(BOOKED) is not None
    text = "the turn waits for 5.0 s: the model or the TTS produces nothing"
    assert (text in [said for _, said in outcome.warnings]) is bool(reported)


def test_a_long_speech_is_no_long_wait() -> None:
    """It makes progress: there is audio to play for 40 s."""
    voice = ScriptedTTS(durations={BOOKED: 40.0})
    stage, waits = _stage(llm=ScriptedLLM({"book": BOOKED}), tts=voice)
    stage.run(60.0)
    assert waits == []


def test_an_output_that_does_not_report_its_end_is_reported() -> None:
    """5 s after the end of its audio, and a look of 2.5 s."""
    voice = ScriptedTTS(durations={BOOKED: 4.0})
    stage, waits = _stage(llm=ScriptedLLM({"book": BOOKED}), tts=voice, faults=["no_end"])
    stage.run(20.0)
    assert waits[0].cause == "output"
    assert 5.0 <= waits[0].seconds <= 8.0
    assert waits[0].since == pytest.approx(6.2, abs=0.5)


def test_a_hook_that_delays_the_reply_is_reported() -> None:
    """The turn is open, and nothing was asked yet."""

    class Thoughtful(Agent):
        async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
            await asyncio.sleep(6.0)

    stage, waits = _stage(
        agent=lambda: Thoughtful(instructions="Think."), llm=ScriptedLLM({"book": BOOKED})
    )
    outcome = stage.run(20.0)
    assert _reports(waits) == [("application", 5, False), ("application", 6, True)]
    assert waits[0].names == ("on_user_turn_completed",)
    assert outcome.heard_saying(BOOKED) is not None


def test_a_voice_that_goes_on_without_words_is_reported() -> None:
    """The speech is paused for as long as it is heard."""
    user = ScriptedUser().says(ASKED, at=1.0).makes_noise(at=3.0, duration=9.0)
    voice = ScriptedTTS(durations={BOOKED: 6.0})
    stage, waits = _stage(user=user, llm=ScriptedLLM({"book": BOOKED}), tts=voice)
    stage.run(25.0)
    assert ("user_has_the_floor", 5, False) in _reports(waits)
    assert waits[-1].ended


def test_a_long_wait_is_in_the_journal_and_in_the_metrics() -> None:
    """One record for each report; the counter counts waits."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    parts = _booking(_slow(12.0))

    def make(**options: Any) -> TurnSession[None]:
        return TurnSession(telemetry=Telemetry(provider), **options)

    stage = Stage(make, user=ScriptedUser().says(ASKED, at=1.0), **parts)  # type: ignore[arg-type]
    stage.run(20.0)
    session: Any = stage.session
    journal = session.turn.journal.read()
    notes = [note.data for note in journal.notes if note.kind == "turn_waits_long"]
    assert [(data["seconds"], data["ended"]) for data in notes] == [
        (5.0, False),
        (10.0, False),
        (12.0, True),
    ]
    assert [v.cause for v in values_of(journal) if isinstance(v, LongWait)] == ["tool_running"]
    data = reader.get_metrics_data()
    assert data is not None
    points = [
        (dict(point.attributes or {}), point.value)  # type: ignore[union-attr]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "turnfsm.turn.waits_long"
        for point in metric.data.data_points
    ]
    assert points == [({"cause": "tool_running"}, 1)]


def test_a_turn_that_is_overdue_is_not_called_dropped_if_it_is_answered() -> None:
    """The limit ends the wait, not the reply."""

    class Thoughtful(Agent):
        async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
            await asyncio.sleep(6.0)

    stage, _ = _stage(
        agent=lambda: Thoughtful(instructions="Think."),
        llm=ScriptedLLM({"book": BOOKED}),
        timers={"turn_overdue": 3.0},
    )
    outcome = stage.run(20.0)
    assert outcome.heard_saying(BOOKED) is not None
    session: Any = stage.session
    assert session.user_turns["replied"] == 1
    assert session.user_turns["dropped"] == 0
    said = [text for _, text in outcome.warnings]
    assert any(text.startswith("turn_overdue, 3 s") for text in said), said
    assert not any("dropped" in text for text in said), said


def _made(**options: Any) -> TurnSession[None]:
    async def make() -> TurnSession[None]:
        return TurnSession(**options)

    return run(make())


def test_no_wait_has_a_limit_by_default() -> None:
    """Where AgentSession has none."""
    timers = _made().timers
    limits = ("thinking_limit", "speaking_limit", "pause_limit", "tool_limit", "turn_overdue")
    for limit in (*limits, "drain_limit", "cleanup_limit"):
        assert timers[limit] == math.inf, limit


@pytest.mark.one_in(2)
@pytest.mark.parametrize("where", ["session", "flow"])
def test_brisk_limits_end_a_wait_that_a_caller_would_not_survive(
    where: str, tmp_path: Path
) -> None:
    """One line of a flow, or one argument; for the end of a session, too."""
    options: dict[str, Any] = {"limits": "brisk"}
    if where == "flow":
        file = tmp_path / "mine.yaml"
        file.write_text("flow: mine\nextends: turn\nlimits: brisk\n", encoding="utf-8")
        options = {"flow": file}
    reached: list[Any] = []
    stage, _ = _stage(**_booking(_slow(1000.0)), **options)
    stage.at(0.0, lambda s: s.session.on("turn_limit_reached", reached.append) and None)  # type: ignore[arg-type]
    outcome = stage.run(25.0)
    assert [(one.limit, one.seconds) for one in reached] == [("tool_limit", 10.0)]
    assert outcome.heard_saying(BOOKED) is not None, outcome.timeline()
    assert outcome.closed_in < 12.0
    session: Any = stage.session
    assert session.timers["drain_limit"] == 5.0


def test_explicit_seconds_come_before_a_set_of_limits(tmp_path: Path) -> None:
    """In a flow and in a session; `math.inf` takes a limit away again."""
    file = tmp_path / "mine.yaml"
    text = "flow: mine\nextends: turn\nlimits: brisk\ntimers: {tool_limit: 60}\n"
    file.write_text(text, encoding="utf-8")
    mine = _made(flow=file, timers={"thinking_limit": math.inf, "drain_limit": 7.0}).timers
    brisk = load_flow("turn").limit_sets["brisk"]
    assert mine["tool_limit"] == 60.0
    assert mine["thinking_limit"] == math.inf
    assert mine["drain_limit"] == 7.0
    assert mine["turn_overdue"] == brisk["turn_overdue"]


def test_a_set_of_limits_that_is_not_there_is_named() -> None:
    """With what there is."""
    with pytest.raises(UnknownName, match="has no set of limits 'brsk'; did you mean 'brisk'"):
        _made(limits="brsk")
