"""The section `hold`: the agent waits for a user who has asked it to."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent
from outcomes import heard as said
from outcomes import run
from scripted_tool import tool

from turnfsm.fsm import Flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "The first train leaves at seven, and the last one at noon."
BUSY = ["First this.", "Then that."]
SILENCE = "silence: {after: 8, say: Are you still there?}\n"
UNTIL = "{say: Take your time., until: [I am back, hello], limit: 30, then: Are you back?}"


def flow_of(section: str = UNTIL, extends: str = "turn", more: str = SILENCE) -> Flow:
    return parsed(f"flow: mine\nextends: {extends}\n{more}hold: {section}\n")


search = tool("search", "found", seconds=4.0)


def play(flow: Flow, user: ScriptedUser, until: float, **options: Any) -> Outcome:
    model = ScriptedLLM(
        {"trains": STORY, "back": "Welcome back.", "search": Reply(calls=Call("search"))},
        on_tool={"search": "I have found it."},
        otherwise="As you like.",
    )
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=user,
        llm=model,
        tts=ScriptedTTS(durations={STORY: 6.0, BUSY[0]: 4.0}),
        **(options or {"tools": [search]}),
    )
    return run(stage, until)


def users(outcome: Outcome) -> list[str]:
    return [line for line in outcome.context if line.startswith("user")]


@pytest.mark.parametrize("words", ["hold on", "one moment please", "okay just a second", "Moment"])
def test_what_is_heard_in_the_room_is_no_turn_until_the_user_is_back(words: str) -> None:
    user = ScriptedUser().says(words, at=1.0).says("where is my purse", at=6.0)
    outcome = play(flow_of(), user.says("so I am back now", at=20.0), 26.0)
    assert said(outcome) == ["Take your time.", "Welcome back."], outcome.timeline()
    assert users(outcome) == ["user: so I am back now"]


def test_without_until_the_next_words_are_a_turn() -> None:
    user = ScriptedUser().says("hold on", at=1.0).says("which trains", at=20.0)
    outcome = play(flow_of("{then: Are you back?}"), user, 29.0)
    assert said(outcome) == [STORY], outcome.timeline()


def test_a_limit_ends_the_hold_and_the_silence_counts_from_there() -> None:
    user = ScriptedUser().says("hold on", at=1.0)
    outcome = play(flow_of(), user, 45.0)
    time, back, there = outcome.heard
    assert [time.text, back.text] == ["Take your time.", "Are you back?"], outcome.timeline()
    assert back.start == pytest.approx(time.end + 30.1, abs=0.2)
    assert there.text == "Are you still there?"
    assert there.start == pytest.approx(back.end + 8.1, abs=0.2)


def test_after_the_limit_the_next_words_are_a_turn() -> None:
    user = ScriptedUser().says("hold on", at=1.0).says("which trains", at=36.0)
    outcome = play(flow_of(), user, 46.0)
    assert said(outcome) == ["Take your time.", "Are you back?", STORY], outcome.timeline()


def test_asking_again_begins_the_limit_anew() -> None:
    user = ScriptedUser().says("hold on", at=1.0).says("one more minute hold on", at=20.0)
    outcome = play(flow_of(UNTIL.replace("limit", "also: one more minute, limit")), user, 49.0)
    assert said(outcome) == ["Take your time."] * 2, outcome.timeline()


def test_noises_do_not_prolong_the_hold() -> None:
    user = ScriptedUser().says("hold on", at=1.0)
    for at in range(6, 40, 3):
        user.makes_noise(at=float(at), duration=0.8)
    outcome = play(flow_of(), user, 40.0)
    assert " ".join(said(outcome)) == "Take your time. Are you back?", outcome.timeline()
    assert outcome.heard[1].start < outcome.heard[0].end + 30.0 + 3.0 + 0.1  # between two noises


@pytest.mark.parametrize("length", [1.0, 4.0])
@pytest.mark.parametrize("stt_delay", [0.05, 0.25])
def test_its_end_is_not_said_over_the_user(length: float, stt_delay: float) -> None:
    """Who still talks to somebody else is not back, and is heard out."""
    user = ScriptedUser().says("hold on", at=1.0)
    user.says("where is my purse", at=33.0, duration=length, stt_delay=stt_delay)
    outcome = play(flow_of(), user, 45.0)
    assert said(outcome)[:2] == ["Take your time.", "Are you back?"], outcome.timeline()
    assert 33.0 + length < outcome.heard[1].start < 33.0 + length + 2.0, outcome.timeline()
    assert users(outcome) == []


def test_who_is_back_at_the_limit_is_answered_and_not_asked() -> None:
    user = ScriptedUser().says("hold on", at=1.0).says("so I am back now", at=32.9)
    outcome = play(flow_of(), user, 40.0)
    assert said(outcome) == ["Take your time.", "Welcome back."], outcome.timeline()


@pytest.mark.parametrize("extends", ["turn", "overlap"])
def test_the_agent_stops_when_it_is_asked_to_wait(extends: str) -> None:
    user = ScriptedUser().says("which trains", at=1.0)
    user.says("hold on please", at=5.0, duration=1.0, interims=((0.4, "hold"),))
    outcome = play(flow_of(extends=extends), user, 25.0)
    story, time = outcome.heard
    assert story.end < 6.1, outcome.timeline()
    assert time.text == "Take your time."


def test_a_running_tool_is_not_stopped_and_the_hold_goes_on_after_its_result() -> None:
    user = ScriptedUser().says("search it", at=1.0).says("hold on", at=3.0)
    user.says("where is my purse", at=12.0)
    outcome = play(flow_of(), user, 24.0)
    assert said(outcome) == ["Take your time.", "I have found it."], outcome.timeline()


def test_an_answer_of_which_nothing_was_heard_is_told_when_the_user_is_back() -> None:
    user = ScriptedUser().says("which trains", at=1.0).says("hold on", at=2.15)
    outcome = play(flow_of(), user.says("I am back", at=20.0), 32.0)
    assert said(outcome)[0] == "Take your time.", outcome.timeline()
    assert all(one.start > 20.0 for one in outcome.heard[1:]), outcome.timeline()
    assert users(outcome) == ["user: which trains", "user: I am back"]


def test_what_says_more_than_that_is_an_ordinary_turn() -> None:
    user = ScriptedUser().says("hold on which trains did you say", at=1.0)
    outcome = play(flow_of(), user, 12.0)
    assert said(outcome) == [STORY], outcome.timeline()


def test_a_turn_that_had_to_wait_is_answered_as_usual() -> None:
    """They ask for a hold while the agent says what cannot be interrupted."""
    user = ScriptedUser().says("hold on", at=2.0).says("which trains", at=12.0)
    flow = flow_of(more="discard_audio_if_uninterruptible: false\n")
    outcome = play(flow, user, 24.0, agent=lambda: Announcer())
    assert said(outcome) == [*BUSY, "As you like.", STORY], outcome.timeline()
    assert users(outcome) == ["user: hold on", "user: which trains"]


class Announcer(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="")

    async def on_enter(self) -> None:
        self.session.say(BUSY[0], allow_interruptions=False)
        self.session.say(BUSY[1])


look = tool("look", "seen", seconds=4.0)


@pytest.mark.parametrize("words", ["hold on", "where is my purse"])
def test_results_that_were_cut_off_are_delivered_after_the_hold(words: str) -> None:
    """By words that get no answer. No other reply would deliver them."""
    user = ScriptedUser().says("search", at=1.0).says("hold on", at=3.0).says(words, at=6.6)
    told = "I have found it and seen it, as you will hear."
    stage = Stage(
        partial(TurnSession, flow=flow_of(UNTIL.replace("30", "10"), more=""), proof="off"),
        user=user,
        llm=ScriptedLLM(
            {"search": Reply(calls=(Call("search"), Call("look")))},
            on_tool={"search": told, "look": told},
            otherwise="As you like.",
        ),
        tts=ScriptedTTS(durations={told: 4.0}),
        tools=[search, look],
    )
    outcome = stage.run(30.0)
    assert said(outcome)[-2:] == ["Are you back?", told], outcome.timeline()


IGNORES = (
    "facts: {host: {not_to_me: The user speaks to somebody else.}}\n"
    "phrases: {not_to_me: {also: [not you]}}\n"
    "requests: {ignore_turn: May it go unanswered?}\n"
    "actions: {discard_turn: Leave the turn of the user without an answer.}\n"
    "states: {listening: {on: {ignore_turn: {conditions: not_to_me, actions: discard_turn}}}}\n"
)


@pytest.mark.parametrize(
    ("words", "min_words"),
    [("hold on", 0), ("hold on", 2), ("not you", 0)],
    ids=["before the hold", "with the hold", "before an ignored turn"],
)
def test_results_are_delivered_after_words_without_an_answer_have_cut_them_off(
    words: str, min_words: int
) -> None:
    """Also if the turn itself does: then the reply ends only after it."""
    user = ScriptedUser().says("search", at=1.0).says(words, at=8.0, duration=0.9)
    told = "I have found it and seen it, as you will hear."
    stage = Stage(
        partial(
            TurnSession, flow=flow_of("{limit: 3, then: Are you back?}", more=IGNORES), proof="off"
        ),
        user=user,
        llm=ScriptedLLM(
            {"search": Reply(calls=(Call("search"), Call("look")))},
            on_tool={"search": told, "look": told},
        ),
        tts=ScriptedTTS(durations={told: 6.0}),
        stt=ScriptedSTT(user, ends_turns=min_words > 0),
        tools=[search, look],
        turn_handling={
            "turn_detection": "stt" if min_words else "vad",
            "interruption": {"min_words": min_words},
            "preemptive_generation": {"enabled": False},  # it would have claimed the results
        },
    )
    outcome = stage.run(30.0)
    assert said(outcome)[-1] == told, outcome.timeline()


def test_an_ordinary_turn_is_no_refusal() -> None:
    """It is no request to wait, no yes, and no acknowledgement; the session only looks whether it
    is one, which `journal.refusals` does not list."""
    flow = flow_of(extends="overlap", more="tools: {confirm: {search: {say: Shall I?}}}\n")
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=ScriptedUser().says("trains please", at=1.0),
        llm=ScriptedLLM({"trains": STORY}),
        tools=[search],
    )
    stage.run(12.0)
    session: Any = stage.session
    assert [str(entry.verdict) for entry in session.turn.journal.refusals] == []
    assert {"hold_turn", "yes_said", "ignore_turn"} <= {*flow.triggers}
