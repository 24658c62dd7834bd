"""What the user is asked for, and how much of it they have said."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfsm.fsm.expect import Expectation
from turnfsm.runtime.conversation.expecting import Expecting

FOUR = Expectation("digits", length=4, wait=4.0)


@attrs.define
class Clock:
    """A clock that is set by hand."""

    now: float = 0.0


@pytest.fixture
def clock() -> Clock:
    """At the time 0."""
    return Clock()


def expecting(clock: Clock, of_state: Expectation | None = None) -> Expecting:
    return Expecting(lambda: of_state, lambda: clock.now, lambda asked: None)


def test_nothing_is_known_where_nothing_is_expected(clock: Clock) -> None:
    asked = expecting(clock)
    asked.heard("1 2", final=True)
    assert asked.extent == "unknown"
    assert asked.wait == 0.0


def test_only_final_transcripts_count(clock: Clock) -> None:
    asked = expecting(clock, FOUR)
    asked.heard("1 2 3 4", final=False)
    assert asked.extent == "unknown"
    asked.heard("1 2 3", final=True)
    assert asked.extent == "partial"
    asked.heard("1 2 3 4", final=True)
    assert asked.extent == "whole"
    asked.cleared()
    assert asked.extent == "unknown"


def test_the_wait_counts_silence_since_the_last_words(clock: Clock) -> None:
    asked = expecting(clock, FOUR)
    asked.voice_started()
    clock.now = 2.0
    asked.heard("1 2", final=True)
    asked.voice_ended()
    clock.now = 3.0
    assert asked.wait == 3.0
    asked.voice_started()  # a noise
    clock.now = 8.0
    assert asked.wait == 3.0
    asked.voice_ended()
    clock.now = 9.0
    assert asked.wait == 2.0
    asked.heard("1 2 3", final=False)
    assert asked.wait == 4.0


def test_words_of_turns_that_nobody_has_answered_belong_to_the_value(clock: Clock) -> None:
    asked = expecting(clock, FOUR)
    asked.heard("1 2", final=True)
    asked.turn_complete()
    asked.heard("3", final=True)
    assert asked.extent == "partial"
    asked.heard("3 4", final=True)
    assert asked.extent == "whole"
    asked.turn_complete()
    asked.answered()
    asked.heard("5 6", final=True)
    assert asked.extent == "partial"


def test_a_question_counts_until_its_answer_is_answered(clock: Clock) -> None:
    """The reply that asks it answers the turn before."""
    yes, asked = Expectation("yes_no"), expecting(clock, FOUR)
    asked.heard("hello", final=True)
    asked.turn_complete()
    asked.ask(yes)
    asked.answered()
    assert asked.expected == yes
    asked.heard("yes", final=True)
    assert asked.extent == "whole"
    asked.turn_complete()
    assert asked.expected == yes
    asked.answered()
    assert asked.expected == FOUR


@given(st.lists(st.sampled_from(["heard", "voice", "silence", "time"]), max_size=40))
def test_the_wait_never_grows_without_words(moves: list[str]) -> None:
    clock = Clock()
    asked = expecting(clock, FOUR)
    before = asked.wait
    for move in moves:
        if move == "heard":
            asked.heard("1", final=True)
            assert asked.wait == FOUR.wait
        elif move == "voice":
            asked.voice_started()
        elif move == "silence":
            asked.voice_ended()
        else:
            clock.now += 1.0
        assert move == "heard" or asked.wait <= before
        before = asked.wait
