"""The section `silence`: what the agent says to a user who says nothing, and when it hangs up."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent
from outcomes import heard, run

from turnfsm.fsm import Flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Outcome, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

FIRST, SECOND, GOODBYE = "Are you still there?", "Can you hear me?", "I hang up now. Goodbye."
LADDER = f"""
  - {{after: 8, say: {FIRST}}}
  - {{after: 8, say: {SECOND}}}
  - {{after: 8, say: {GOODBYE}, hang_up: true}}
"""
LASTS = 1.2
"""Seconds of each text."""
ROUND = 8.0 + 0.1 + LASTS
"""From the beginning of a silence to the end of what is said about it."""


def flow_of(silence: str = LADDER, extends: str = "turn") -> Flow:
    return parsed(f"flow: mine\nextends: {extends}\nsilence: {silence}\n")


def play(
    user: ScriptedUser,
    until: float = 60.0,
    flow: Flow | None = None,
    **options: Any,
) -> Outcome:
    texts = (FIRST, SECOND, GOODBYE)
    stage = Stage(
        partial(TurnSession, flow=flow or flow_of(), proof="off"),
        user=user,
        llm=ScriptedLLM(otherwise="Yes?"),
        tts=ScriptedTTS(durations={**dict.fromkeys(texts, LASTS), "Yes?": 0.6}),
        **options,
    )
    return run(stage, until)


def closed_at(outcome: Outcome) -> float:
    lines = outcome.timeline().splitlines()
    return next(float(line.split()[0]) for line in lines if " session  close" in line)


def test_a_user_who_says_nothing_is_asked_twice_and_then_the_session_closes() -> None:
    outcome = play(ScriptedUser())
    assert heard(outcome) == [FIRST, SECOND, GOODBYE], outcome.timeline()
    starts = [round(one.start, 1) for one in outcome.heard]
    assert starts == pytest.approx([8.1, 8.1 + ROUND, 8.1 + 2 * ROUND], abs=0.1)
    assert closed_at(outcome) < 3 * ROUND + 1.0 + 2.5


def test_the_silence_counts_from_the_end_of_what_the_agent_says() -> None:
    outcome = play(ScriptedUser().says("hello", at=1.0), 16.0)
    answer, ask = outcome.heard
    assert ask.start == pytest.approx(answer.end + 8.1, abs=0.1), outcome.timeline()


def test_a_text_that_a_noise_comes_before_is_said_when_the_user_has_been_silent_again() -> None:
    outcome = play(ScriptedUser().makes_noise(at=8.0, duration=0.5), 30.0)
    assert heard(outcome) == [FIRST, SECOND], outcome.timeline()
    assert outcome.heard[0].start == pytest.approx(8.5 + 8.1, abs=0.3)


def test_a_text_that_noises_come_before_is_said_until_a_part_of_it_was_heard() -> None:
    """Nobody is hung up on without a goodbye."""
    user = ScriptedUser()
    for n in range(3):
        user = user.makes_noise(at=8.0 + n * 8.75, duration=0.5)
    outcome = play(user, 90.0)
    assert heard(outcome) == [FIRST, SECOND, GOODBYE], outcome.timeline()
    assert outcome.heard[0].start > 4 * 8.0


def test_a_text_that_noises_end_is_said_twice_at_most_and_the_session_closes() -> None:
    """The output cannot pause, so each noise ends the text that it comes into."""
    user = ScriptedUser()
    for n in range(6):
        user = user.makes_noise(at=8.6 + n * 9.3, duration=0.5)
    outcome = play(user, 90.0, can_pause=False)
    twice = [text for text in (FIRST, SECOND, GOODBYE) for _ in range(2)]
    said = heard(outcome)
    assert len(said) == len(twice), outcome.timeline()
    assert all(map(str.startswith, twice, said)), outcome.timeline()
    assert closed_at(outcome) < 60.0


def test_words_of_the_user_begin_it_anew() -> None:
    """Whoever has answered is asked the first question again."""
    user = ScriptedUser().says("yes I am", at=10.5).says("and now", at=25.0)
    outcome = play(user, 45.0)
    assert heard(outcome)[:5] == [FIRST, "Yes?", FIRST, "Yes?", FIRST], outcome.timeline()


def test_typed_words_begin_it_anew() -> None:
    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"),
        user=ScriptedUser(),
        llm=ScriptedLLM(otherwise="Yes?"),
    )
    stage.at(11.0, lambda stage: stage.session.generate_reply(user_input="I am here"))
    assert heard(stage.run(24.0)) == [FIRST, "Yes?", FIRST]


def test_a_noise_is_no_answer() -> None:
    """The silence counts from it, and the next question follows."""
    user = ScriptedUser().makes_noise(at=14.0, duration=0.3)
    outcome = play(user, 30.0)
    assert heard(outcome)[:2] == [FIRST, SECOND]
    assert outcome.heard[1].start == pytest.approx(14.3 + 8.0 + 0.1, abs=0.6), outcome.timeline()


def test_a_user_who_speaks_when_it_is_due_is_not_talked_over() -> None:
    outcome = play(ScriptedUser().says("one two three four", at=7.5, duration=2.0), 14.0)
    assert heard(outcome) == ["Yes?"], outcome.timeline()


@pytest.mark.parametrize("at", [0.5, 1.5])
def test_a_user_who_answers_the_goodbye_keeps_the_session(at: float) -> None:
    """While it is said, and right after it."""
    goodbye = 8.1 + 2 * ROUND
    user = ScriptedUser().says("no wait I am here", at=goodbye + at)
    outcome = play(user, goodbye + 7.0)
    assert heard(outcome)[-1] == "Yes?", outcome.timeline()
    assert closed_at(outcome) >= goodbye + 7.0


def test_texts_of_one_step_are_said_in_turn() -> None:
    flow = flow_of(f"{{after: 8, say: [{FIRST}, {SECOND}]}}")
    user = ScriptedUser().says("yes", at=11.0)
    assert heard(play(user, 24.0, flow)) == [FIRST, "Yes?", SECOND]


def test_a_single_step_is_said_once() -> None:
    assert heard(play(ScriptedUser(), 40.0, flow_of(f"{{after: 8, say: {FIRST}}}"))) == [FIRST]


def test_steps_of_different_length_are_said_one_after_the_other() -> None:
    """A step that is shorter than the one before counts from that one, too."""
    flow = flow_of(f"[{{after: 8, say: {FIRST}}}, {{after: 3, say: {SECOND}}}]")
    first, second = play(ScriptedUser(), 30.0, flow).heard
    assert second.start == pytest.approx(first.end + 3.1, abs=0.1)


class Slow(Agent):
    """Its hook takes longer than the silence."""

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await asyncio.sleep(10.0)


def test_a_turn_that_waits_for_the_application_is_no_silence() -> None:
    user = ScriptedUser().says("hello", at=1.0)
    outcome = play(user, 15.0, agent=lambda: Slow(instructions="Wait."))
    assert heard(outcome) == ["Yes?"], outcome.timeline()


@pytest.mark.parametrize("extends", ["turn", "overlap", "half_duplex", "uninterruptible"])
def test_it_works_with_other_flows(extends: str) -> None:
    outcome = play(ScriptedUser(), 50.0, flow_of(extends=extends))
    assert heard(outcome) == [FIRST, SECOND, GOODBYE], outcome.timeline()
    assert closed_at(outcome) < 50.0


@pytest.mark.parametrize("interruptible", [True, False])
def test_a_goodbye_is_finished_or_broken_off_as_the_flow_says(interruptible: bool) -> None:
    """The user speaks over it, is answered, and the session goes on."""
    goodbye = (
        f"{{after: 8, say: {GOODBYE}, hang_up: true, interruptible: {str(interruptible).lower()}}}"
    )
    flow = parsed(
        f"flow: mine\nextends: turn\ndiscard_audio_if_uninterruptible: false\nsilence: {goodbye}\n"
    )
    outcome = play(ScriptedUser().says("wait a moment", at=8.4), 14.0, flow)
    first = outcome.heard[0]
    assert (first.end - first.start > LASTS - 0.1) is not interruptible, outcome.timeline()
    assert outcome.heard[-1].text == "Yes?"
