"""What `python -m bench.overlap` measures is what a caller hears."""

from __future__ import annotations

import re

import attrs
import numpy as np
import pytest

from bench.heard import replay, scripted_vad
from bench.noise import Seen as SeenInNoise
from bench.noise import mixed
from bench.noise import table as noise_table
from bench.overlap import FIGURES, missed, table
from bench.overlap_calls import SESSIONS, Drawn, Seen, draw, play
from turnfsm.testing import ScriptedUser, Utterance

SOUND = Utterance(0.0, 0.4, "mhm", 0.3, ((0.3, "mhm"),))
MHM = Drawn("backchannel", True, False, "mhm", 5.0, 0.4, 0.0, 10.0, (SOUND,))
SAID = attrs.evolve(SOUND, text="stop", interims=((0.3, "stop"),))
STOP = attrs.evolve(MHM, kind="stop", stays=False, words="stop", sounds=(SAID,))
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
    assert re.search(r"100.0 % \| +>= 95.0 %, met", table({"session": [right]}))
    assert re.search(r"50.0 % \| +>= 95.0 %, \*\*missed", table({"session": [right, wrong]}))
    assert missed([right, wrong]) == '- backchannel: "mhm"'
    assert len(table({"session": [right]}).splitlines()) == 2 + len(FIGURES)


def test_spoken_overlaps_are_english_and_have_words() -> None:
    drawn = draw(7, 400, english=True)
    assert {one.kind for one in drawn} == {
        *("backchannel", "tic", "aside"),
        *("stop", "correction", "question", "request", "statement"),
    }
    assert all(one.words.isascii() and one.words for one in drawn)


def test_what_was_heard_of_a_voice_decides_instead_of_what_was_said() -> None:
    misheard = (Utterance(0.1, 0.4, "make sense of it", 0.55),)
    assert not play(attrs.evolve(MHM, sounds=misheard), OVERLAP).right


def test_sounds_are_replayed_as_the_vad_and_the_stt_have_reported_them() -> None:
    sounds = [Utterance(0.5, 0.4), Utterance(2.0, 0.6, "hello there", 0.55, ((0.4, "hello"),))]
    user = replay(sounds, ScriptedUser(), 4.0)
    assert [(one.at, one.text, one.interims) for one in user.utterances] == [
        (4.5, "", ()),
        (6.0, "hello there", ((0.4, "hello"),)),
    ]
    assert scripted_vad().min_silence == 0.3


def test_a_minute_of_noise_has_the_ratio_to_speech_that_was_asked_for() -> None:
    noise = np.random.default_rng(1).normal(0, 500, 16_000).astype(np.int16)
    for ratio in (15.0, 0.0):
        minute = mixed(noise, ratio, burst=False).astype(float)
        assert len(minute) == 60 * 16_000
        assert np.sqrt(np.mean(minute**2)) == pytest.approx(3000 / 10 ** (ratio / 20), rel=0.02)
    burst = mixed(noise, 15.0, burst=True)
    assert not burst[2 * 16_000 : 9 * 16_000].any()
    assert (burst[:16_000] == burst[10 * 16_000 : 11 * 16_000]).all()


def test_a_noise_that_no_vad_takes_for_speech_is_one_line() -> None:
    calm, stopped = SeenInNoise(0, 0.0, 1.0), SeenInNoise(1, 2.5, 0.25)
    seen = {
        ("siren", 15.0): (0.0, {"session": calm}),
        ("siren", -5.0): (0.0, {"session": calm}),
        ("voices", 15.0): (0.0, {"session": calm}),
        ("voices", -5.0): (3.0, {"session": stopped}),
    }
    assert re.sub(" +", " ", noise_table(seen)).splitlines()[2:] == [
        "| siren | 15 to -5 dB | 0.0 s | 0 (0.0 s) |",
        "| voices | 15 dB | 0.0 s | 0 (0.0 s) |",
        "| voices | -5 dB | 3.0 s | 1 (2.5 s), stops after 25 % |",
    ]
