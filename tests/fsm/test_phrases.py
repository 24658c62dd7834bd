"""Phrases of a flow: which words of the user a host fact recognises."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from flow_text import parsed
from hypothesis import given
from hypothesis import strategies as st

from turnfsm.fsm import load_flow, phrases
from turnfsm.fsm.phrases import Phrases, shipped_phrases

ACKNOWLEDGED = load_flow("turn").phrases["acknowledged"]


SAID = yaml.safe_load(Path(__file__).with_name("said.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", SAID["acknowledged"])
def test_an_acknowledgement_is_recognised(text: str) -> None:
    assert ACKNOWLEDGED.match(text)


@pytest.mark.parametrize("text", SAID["not acknowledged"])
def test_everything_else_is_none(text: str) -> None:
    assert not ACKNOWLEDGED.match(text)


def test_a_flow_adds_phrases_and_takes_some_away() -> None:
    text = (
        "flow: mine\nextends: turn\nphrases:\n"
        "  acknowledged: {also: [roger that, over and out], without: right}\n"
    )
    flow = parsed(text)
    mine = flow.phrases["acknowledged"]
    assert mine.lists == ("acknowledgement",)
    assert mine.match("Okay, roger that. Over and out!")
    assert not mine.match("right")
    assert ACKNOWLEDGED.match("right")


def test_a_host_fact_of_a_users_own_has_phrases() -> None:
    text = (
        "flow: mine\nextends: turn\nfacts: {host: {wants_a_human: The caller wants a person.}}\n"
        "phrases: {wants_a_human: {also: [human please, operator]}}\n"
    )
    flow = parsed(text)
    assert flow.phrases["wants_a_human"].match("Operator! Human, please.")


def test_a_list_of_phrases_comes_with_turnfsm() -> None:
    assert shipped_phrases() == (
        "acknowledgement",
        "backchannel",
        "correction",
        "filler",
        "hesitation",
        "hold",
        "no",
        "stop_word",
        "yes",
    )


@given(st.lists(st.sampled_from(["okay", "thank you", "bye bye", "no"]), min_size=1, max_size=6))
def test_words_count_if_they_are_a_sequence_of_phrases(parts: list[str]) -> None:
    known = Phrases(also=("okay", "thank you", "bye bye"))
    assert known.match(" ".join(parts)) == ("no" not in parts)


LISTENS = load_flow("overlap").phrases["backchannel"]
STOPS = load_flow("overlap").phrases["stop_word"]
SHELF = Path(phrases.__file__).parents[1] / "specs" / "phrases"


def said(name: str) -> list[tuple[str, str]]:
    """Each phrase of a list as it is written, with its language."""
    found = []
    for file in sorted((SHELF / name).glob("*.txt")):
        lines = file.read_text(encoding="utf-8").splitlines()
        text = " ".join(line for line in lines if not line.startswith("#"))
        found += [(file.stem, phrase.strip()) for phrase in text.split(",") if phrase.strip()]
    return found


@pytest.mark.parametrize("name", ["backchannel", "stop_word"])
def test_a_list_for_what_is_said_over_the_agent_has_eight_languages(name: str) -> None:
    assert {code for code, _ in said(name)} == {"de", "en", "es", "fr", "hi", "ja", "pt", "zh"}


def test_no_backchannel_contains_a_stop_word_of_any_language() -> None:
    assert [phrase for _, phrase in said("backchannel") if STOPS.match(phrase)] == []


def test_words_of_other_scripts_are_told_apart() -> None:
    assert all(map(LISTENS.match, SAID["listens"]))
    assert not any(map(LISTENS.match, SAID["does not listen"]))


@pytest.mark.parametrize(
    "text", ["okay stop", "ja warten Sie", "はいちょっと待って", "嗯等一下", "um, wait"]
)
def test_a_stop_word_is_found_wherever_it_stands(text: str) -> None:
    assert STOPS.match(text)
    assert STOPS.match(text, whole=False)


@given(
    st.lists(
        st.sampled_from([phrase for _, phrase in said("backchannel")]), min_size=1, max_size=4
    ),
    st.integers(1, 80),
)
def test_while_more_may_follow_each_beginning_counts(parts: list[str], upto: int) -> None:
    """As an STT shows it: words come one by one, the last one may be cut off."""
    text = " ".join(parts)
    assert LISTENS.match(text)
    if phrases.words_of(text[:upto]):
        assert LISTENS.match(text[:upto], whole=False)


@given(st.text(max_size=40), st.text(max_size=10))
def test_what_is_no_beginning_stays_none(text: str, more: str) -> None:
    if phrases.words_of(text) and not LISTENS.match(text, whole=False):
        assert not LISTENS.match(f"{text} {more}", whole=False)


@given(st.text(max_size=60))
def test_any_text_can_be_judged(text: str) -> None:
    assert Phrases(lists=("acknowledgement",)).match(text) in (True, False)
