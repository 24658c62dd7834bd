"""LiveKit's adaptive interruption detector as evidence: its verdicts are events of the flow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import attrs
import pytest
from flow_text import parsed
from livekit import rtc
from livekit.agents import APIConnectionError, inference
from livekit.agents.inference.interruption import (
    OverlappingSpeechEvent,
    _OverlapSpeechEndedSentinel,
    _OverlapSpeechStartedSentinel,
)

from turnfsm.fsm import Flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.livekit.overrides.overlap import VERDICTS
from turnfsm.runtime.testing.livekit import (
    Outcome,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "The first train leaves at seven, the second one at nine, and the last one at noon."
DETECTED = 0.4
"""Seconds of an overlap after which the detector says that it is an interruption."""

ROWS = """
flow: hears_intent
extends: overlap
events: {interruption_detected: {of: step}, backchannel_detected: {of: step}}
states:
  speaking:
    on:
      interruption_detected:
        dest: interrupted
        conditions: interruptible
        unless: backchannel
        actions: interrupt_speech
  paused:
    on:
      interruption_detected: {dest: interrupted, unless: backchannel, actions: interrupt_speech}
      backchannel_detected: {}
"""


def flow_of(text: str) -> Flow:
    return parsed(text)


class Stream:
    """Judges each overlap: after a while it is an interruption, or at its end it was none."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._events: asyncio.Queue[OverlappingSpeechEvent] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None

    def push_frame(self, frame: inference.InterruptionDataFrameType) -> None:
        self._detector.pushed.append(frame)
        if isinstance(frame, _OverlapSpeechStartedSentinel):
            loop, seconds = asyncio.get_running_loop(), DETECTED
            if not self._detector.interrupts:
                seconds = 60.0
            self._timer = loop.call_later(seconds, self._say, True)
        elif isinstance(frame, _OverlapSpeechEndedSentinel) and self._timer is not None:
            self._say(False)

    def _say(self, interrupts: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._events.put_nowait(
            OverlappingSpeechEvent(is_interruption=interrupts, total_duration=0.05)
        )

    async def __aiter__(self) -> AsyncIterator[OverlappingSpeechEvent]:
        if self._detector.down:
            raise APIConnectionError("the service is down", retryable=False)
        while True:
            yield await self._events.get()

    async def aclose(self) -> None:
        self._detector.closed += 1


class Detector(inference.AdaptiveInterruptionDetector):
    """One that needs no service."""

    interrupts = True
    down = False
    closed = 0
    made: Detector

    def __init__(self) -> None:
        super().__init__(api_key="key", api_secret="secret", base_url="wss://nowhere")
        self.pushed: list[Any] = []
        Detector.made = self

    def stream(self, **_: Any) -> Any:
        return Stream(self)


@pytest.fixture(autouse=True)
def detector(monkeypatch: pytest.MonkeyPatch) -> type[Detector]:
    monkeypatch.setattr(inference, "AdaptiveInterruptionDetector", Detector)
    monkeypatch.setattr(Detector, "interrupts", True)
    monkeypatch.setattr(Detector, "down", False)
    return Detector


@attrs.frozen
class Played:
    outcome: Outcome
    posted: list[tuple[float, str, str]]
    """The verdicts in the journal: second, trigger, the state that followed."""


def play(
    user: ScriptedUser, flow: Flow | str | None = None, mode: str = "adaptive", **options: Any
) -> Played:
    stage = Stage(
        partial(TurnSession, flow=flow or flow_of(ROWS), proof="off"),
        user=user,
        llm=ScriptedLLM({"trains": STORY}, otherwise="As you like."),
        tts=ScriptedTTS(durations={STORY: 6.0}),
        turn_handling={"interruption": {"mode": mode}},
        **options,
    )
    outcome = stage.run(14.0)
    assert outcome.errors == [], outcome.timeline()
    assert outcome.orphans == ()
    session: Any = stage.session
    posted = [
        (round(entry.t, 2), entry.verdict.trigger, getattr(entry.verdict, "dest", ""))
        for entry in session.turn.journal.read().entries
        if entry.verdict.trigger in VERDICTS
    ]
    return Played(outcome, posted)


def asks() -> ScriptedUser:
    return ScriptedUser().says("which trains", at=1.0)


def test_an_interruption_ends_the_speech_before_its_words_are_known() -> None:
    """Also on an output that cannot pause. The words are known only after 2 s of speech."""
    judged, alone = (
        play(asks().says("what about sunday", at=5.0, duration=2.0), flow, can_pause=False)
        for flow in (None, "overlap")
    )
    assert judged.posted == [(5.45, "interruption_detected", "interrupted")]
    assert judged.outcome.heard[0].end == pytest.approx(5.45, abs=0.1)
    assert alone.outcome.heard[0].end > 6.9
    assert judged.outcome.heard[-1].text == "As you like.", judged.outcome.timeline()


def test_the_audio_is_judged_on_while_the_output_is_paused() -> None:
    played = play(asks().says("what about sunday", at=5.0, duration=2.0))
    assert played.outcome.heard[0].end == pytest.approx(5.2, abs=0.05)
    assert played.posted == [(5.45, "interruption_detected", "interrupted")]
    frames = [one for one in Detector.made.pushed if isinstance(one, rtc.AudioFrame)]
    assert len(frames) > 100
    assert Detector.made.closed == 1


def test_a_sound_that_is_no_interruption_is_another_event(detector: type[Detector]) -> None:
    detector.interrupts = False
    played = play(asks().makes_noise(at=5.0, duration=0.8))
    assert played.posted == [(6.05, "backchannel_detected", "paused")]
    assert " ".join(one.text for one in played.outcome.heard) == STORY


def test_what_the_phrases_know_is_stronger() -> None:
    """A row of the flow says so; LiveKit itself would interrupt."""
    user = asks().says("mhm", at=5.0, duration=0.6, interims=((0.2, "mhm"),))
    assert " ".join(one.text for one in play(user).outcome.heard) == STORY


def test_a_detector_that_fails_leaves_the_decision_to_the_words(
    detector: type[Detector], caplog: pytest.LogCaptureFixture
) -> None:
    detector.down = True
    outcome = play(asks().says("what about sunday", at=5.0, duration=1.0)).outcome
    assert outcome.heard[-1].text == "As you like.", outcome.timeline()
    assert "LiveKit's interruption detector has failed" in caplog.text


def test_a_flow_without_a_detector_says_what_to_pass(caplog: pytest.LogCaptureFixture) -> None:
    outcome = play(asks(), mode="vad").outcome
    assert outcome.heard[-1].text == STORY
    assert "pass turn_handling={'interruption': {'mode': 'adaptive'}}" in caplog.text
