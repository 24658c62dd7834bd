"""What `python -m bench.dictation` measures is what a caller hears."""

from __future__ import annotations

import re

import attrs
import pytest

from bench.dictation import KINDS, LENGTH, SESSIONS, WAIT, Drawn, Seen, draw, play, table
from turnfsm.testing import Utterance

STOCK, PATIENT, EXPECTS = SESSIONS
NUMBER = Drawn(
    "number",
    (
        Utterance(1.0, 1.5, "five five five one two"),
        Utterance(4.0, 1.5, "three four five six seven"),
    ),
)
YES = Drawn("yes or no", (Utterance(1.0, 0.3, "yes"),))
PART = Drawn("part of a number", NUMBER.groups[:1])


def test_a_seed_draws_the_same_again() -> None:
    assert draw(7, 40) == draw(7, 40) != draw(8, 40)


def test_half_of_the_answers_are_numbers_with_pauses() -> None:
    drawn = draw(7, 400)
    assert [sum(one.kind == kind for one in drawn) for kind in KINDS] == [200, 100, 100]
    for one in drawn:
        pauses = zip(one.groups, one.groups[1:], strict=False)
        assert all(0.7 <= b.at - a.end <= 2.0 for a, b in pauses)
        assert (len(one.groups) > 1) or one.kind != "number"
    digits = [sum(word not in ("um", "uh", "and", "then") for g in one.groups for word in
              g.text.split()) for one in drawn if one.kind == "number"]  # fmt: skip
    assert set(digits) == {LENGTH}


def test_a_number_is_cut_off_only_where_nothing_is_expected() -> None:
    assert play(STOCK, NUMBER).cut_off
    assert not play(PATIENT, NUMBER).cut_off
    assert not play(EXPECTS, NUMBER).cut_off


def test_an_answer_is_faster_than_with_a_delay_that_cuts_nothing_off() -> None:
    for answer in (NUMBER, YES):
        slow, fast = play(PATIENT, answer).answered_after, play(EXPECTS, answer).answered_after
        assert slow is not None
        assert fast is not None
        assert fast < slow - 1.0


def test_a_number_that_is_not_finished_is_answered_after_the_wait() -> None:
    assert play(EXPECTS, PART).answered_after == pytest.approx(WAIT + 0.5, abs=0.3)


def test_the_table_counts_and_measures() -> None:
    whole, cut = Seen(NUMBER, ("a",), 0.5), Seen(NUMBER, ("a", "b"), 1.5)
    shown = table({"one": [whole, cut], "other": [attrs.evolve(whole, answered_after=None)]})
    shown = re.sub(" +", " ", shown)
    assert "| numbers that are cut off | 1 of 2 | 0 of 1 |" in shown
    assert "| number to answer, p95 | 1.50 s | none |" in shown
