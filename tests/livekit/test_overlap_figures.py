"""What `python -m bench.overlap` measures is what a caller hears."""

from __future__ import annotations

import attrs
import pytest

from bench.overlap import FIGURES, missed, table
from bench.overlap_calls import SESSIONS, Drawn, Seen, draw, play

MHM = Drawn("backchannel", True, False, "mhm", 5.0, 0.4, 0.0, ((0.3, "mhm"),), 0.3, 10.0)
STOP = attrs.evolve(MHM, kind="stop", stays=False, words="stop", interims=((0.3, "stop"),))
OVERLAP, TURN = SESSIONS['flow="overlap"'], SESSIONS["TurnSession"]


def test_a_seed_draws_the_same_again() -> None:
    assert draw(7, 40) == draw(7, 40) != draw(8, 40)


def test_half_of_the_callers_want_to_hear_the_rest() -> None:
    drawn = draw(7, 400)
    assert sum(one.stays for one in drawn) == 200
    assert {one.kind for one in drawn} == {
        *("backchannel", "tic", "cough", "aside"),
        *("stop", "correction", "question", "request", "statement"),
    }
    assert 15 <= sum(one.rare for one in drawn) <= 70


def test_a_speech_that_goes_on_is_told_from_one_that_ends() -> None:
    heard, cut = play(MHM, OVERLAP), play(MHM, TURN)
    assert heard.right
    assert heard.silent_after == pytest.approx(0.2, abs=0.06)
    assert heard.goes_on_after == pytest.approx(0.25, abs=0.06)
    assert not cut.right
    assert cut.answered
    assert cut.stopped_after == pytest.approx(0.5, abs=0.06)


def test_an_interruption_is_right_if_the_agent_stops_and_has_the_words() -> None:
    stopped = play(STOP, OVERLAP)
    assert stopped.right
    assert not attrs.evolve(stopped, answered=False).right
    assert not attrs.evolve(stopped, stopped_after=None).right


def test_a_goal_that_is_missed_is_said() -> None:
    right = Seen(MHM, 0.2, None, 0.25, False)
    wrong = Seen(MHM, 0.2, 1.0, None, True)
    assert "100.0 % | >= 95.0 %, met" in table({"session": [right]})
    assert "50.0 % | >= 95.0 %, **missed**" in table({"session": [right, wrong]})
    assert missed([right, wrong]) == '- backchannel: "mhm"'
    assert len(table({"session": [right]}).splitlines()) == 2 + len(FIGURES)
