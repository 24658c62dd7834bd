"""What `python -m bench.latency` measures is what a caller hears, and it can find a late answer."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

import attrs
import pytest

from bench.latency import Answer, compare, later, table
from bench.latency_calls import PROFILES, Sound, draw, names_of
from turnfsm.livekit import TurnSession

ASKS = Sound(1.0, 1.2, 4, (0.5, 0.8, 1.1, 1.4), ttft=0.4)
COUGH = Sound(2.9, 0.7)


def test_a_seed_draws_the_same_again() -> None:
    for profile in PROFILES:
        assert draw(profile, 7, 40) == draw(profile, 7, 40) != draw(profile, 8, 40)
        assert 40 <= sum(s.words > 0 for sounds in draw(profile, 7, 40) for s in sounds) < 60


def test_sounds_do_not_overlap() -> None:
    for profile in PROFILES:
        for sounds in draw(profile, 7, 200):
            assert all(a.end < b.at for a, b in pairwise(sounds))


def test_noises_and_tools_are_in_their_profiles() -> None:
    for profile in PROFILES:
        sounds = [sound for sounds in draw(profile, 7, 200) for sound in sounds]
        assert any(not sound.words for sound in sounds) == (profile == "noisy")
        assert any(sound.tool is not None for sound in sounds) == (profile == "tools")


@pytest.mark.parametrize("profile", PROFILES)
def test_an_answer_is_measured_from_the_end_of_its_sentence(profile: str) -> None:
    (one,) = compare(profile, [ASKS])
    assert one.name == "u0"
    assert one.stock == pytest.approx(one.ours, abs=0.05)
    assert 0.6 < (one.ours or 0.0) < 1.6


@pytest.mark.parametrize("filler", [False, True])
def test_a_result_is_an_answer_of_its_own(filler: bool) -> None:
    asks = attrs.evolve(ASKS, tool=2.0, filler=filler)
    spoken, result = compare("tools", [asks])
    assert (spoken.name, result.name) == ("u0", "r0")
    assert (spoken.ours == result.ours) == (not filler)
    assert result.ours is not None
    assert 2.5 < result.ours < 4.5


def test_an_answer_that_a_flow_holds_for_longer_is_found() -> None:
    sounds = [ASKS, COUGH]
    timers = {"transcript_wait": 5.0, "false_interruption": 5.0, "noise_limit": 6.0}
    slow = partial(TurnSession, timers=timers, proof="off")
    assert later(compare("noisy", sounds)) == []
    (found,) = later(compare("noisy", sounds, session=slow))
    assert found.name == "u0"
    assert found.later == pytest.approx(3.0, abs=0.1)


def test_a_sentence_does_not_wait_for_the_tool_of_the_one_before_and_the_result_follows() -> None:
    first = attrs.evolve(ASKS, tool=3.5, ttft=0.8)
    second = attrs.evolve(ASKS, at=3.4, answer=4)
    asked, added, result = compare("tools", [first, second])
    assert asked.later == pytest.approx(-1.65, abs=0.1)
    assert added.later == pytest.approx(-1.65, abs=0.1)
    assert [one.name for one in later([asked, added, result])] == ["r0"]
    assert result.later == pytest.approx(0.57, abs=0.1)


def test_the_table_counts_and_compares() -> None:
    answers = [
        Answer(0, "u0", 1.0, 1.0),
        Answer(0, "u1", 1.0, 2.5),
        Answer(0, "u2", 2.0, 1.0),
        Answer(0, "u3", None, 1.0),
    ]
    assert [one.name for one in later(answers)] == ["u1"]
    assert re.sub(" +", " ", table({"quiet": answers})).splitlines()[2] == (
        "| quiet | 3 | 1.00 s, 1.00 s | 2.00 s, 2.50 s | 2.00 s, 2.50 s | 1, 0 | 1 | 1 | 1.50 s |"
    )


def test_what_is_never_heard_is_named() -> None:
    assert names_of([ASKS, COUGH, attrs.evolve(ASKS, tool=1.0)]) == ["u0", "u2", "r2"]
