"""The section `monologue`: the agent stops at the end of a sentence, and lets the user in."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from outcomes import run

from turnfsm.fsm import Flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Outcome, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

SENTENCE = "The number {} train of the day leaves from the first platform."
LONG = " ".join(SENTENCE.format(n) for n in range(10))
LASTS = 3.6
"""Seconds of a sentence."""
ENDLESS = "and another train leaves and " * 30


def flow_of(section: str = "{after: 10}", extends: str = "turn") -> Flow:
    return parsed(f"flow: mine\nextends: {extends}\nmonologue: {section}\n")


def play(
    flow: Any,
    until: float = 40.0,
    user: ScriptedUser | None = None,
    llm: ScriptedLLM | None = None,
    **options: Any,
) -> Outcome:
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=(user or ScriptedUser()).says("which trains", at=1.0),
        llm=llm or ScriptedLLM({"trains": LONG}, otherwise="Yes?"),
        tts=ScriptedTTS(seconds_per_word=0.3),
        **options,
    )
    return run(stage, until)


def sentences(count: int) -> str:
    return " ".join(SENTENCE.format(n) for n in range(count))


def heard(outcome: Outcome) -> str:
    return " ".join(one.text for one in outcome.heard)


@pytest.mark.parametrize("after", [6.0, 10.0, 11.7, 15.0])
def test_it_stops_at_the_end_of_the_sentence_in_which_the_time_is_over(after: float) -> None:
    outcome = play(flow_of(f"{{after: {after}}}"))
    count = int(after // LASTS) + 1
    assert heard(outcome) == sentences(count)
    lasted = outcome.heard[-1].end - outcome.heard[0].start
    assert lasted == pytest.approx(count * LASTS, abs=0.3), outcome.timeline()
    (said,) = [line for line in outcome.context if line.startswith("assistant")]
    assert said == f"assistant: {sentences(count)} (interrupted)"


def test_without_the_section_it_talks_on() -> None:
    assert heard(play("turn", 50.0)) == LONG


def test_a_shorter_answer_is_heard_to_its_end() -> None:
    assert heard(play(flow_of("{after: 60}"), 50.0)) == LONG


def test_the_user_is_let_in_and_answered() -> None:
    """Nothing is said until they speak."""
    user = ScriptedUser().says("and on sunday", at=25.0)
    outcome = play(flow_of(), 40.0, user)
    assert heard(outcome) == f"{sentences(3)} Yes?"
    assert outcome.heard[-1].start > 25.9


def test_it_says_what_it_is_told_to_and_nothing_more() -> None:
    outcome = play(flow_of("{after: 10, say: Shall I go on?}"))
    assert heard(outcome) == f"{sentences(3)} Shall I go on?", outcome.timeline()
    assert outcome.heard[-1].start - outcome.heard[0].end < 0.8


def test_a_text_without_sentences_ends_five_seconds_later() -> None:
    outcome = play(flow_of("{after: 8}"), llm=ScriptedLLM(otherwise=ENDLESS))
    lasted = outcome.heard[-1].end - outcome.heard[0].start
    assert lasted == pytest.approx(13.0, abs=0.2), outcome.timeline()


def test_speech_that_may_not_be_interrupted_is_finished() -> None:
    stage = Stage(partial(TurnSession, flow=flow_of(), proof="off"), tts=ScriptedTTS())
    stage.at(0.5, lambda one: one.session.say(LONG, allow_interruptions=False) and None)
    assert heard(stage.run(45.0)) == LONG


def test_a_false_interruption_does_not_end_it_earlier() -> None:
    """The count begins anew when the agent goes on."""
    user = ScriptedUser().makes_noise(at=6.0, duration=0.7)
    outcome = play(flow_of(), 40.0, user)
    assert heard(outcome) == sentences(4), outcome.timeline()


@pytest.mark.parametrize("extends", ["overlap", "half_duplex"])
def test_it_works_with_other_flows(extends: str) -> None:
    assert heard(play(flow_of(extends=extends))) == sentences(3)


def test_a_session_that_closes_asks_nothing_any_more() -> None:
    """What it says is finished first, and cut at the limit; no new speech can begin."""
    stage = Stage(
        partial(TurnSession, flow=flow_of("{after: 3, say: Shall I go on?}"), proof="off"),
        user=ScriptedUser().says("which trains", at=1.0),
        llm=ScriptedLLM({"trains": ENDLESS}),
        tts=ScriptedTTS(seconds_per_word=0.3),
    )
    outcome = stage.at(4.0, lambda stage: stage.session.shutdown(drain=True)).run(20.0)
    assert outcome.errors == [], outcome.timeline()
    assert "Shall I go on?" not in heard(outcome)
    assert outcome.heard[0].end < 12.0
