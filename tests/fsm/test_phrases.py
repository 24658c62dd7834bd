"""Phrases of a flow: which words of the user a host fact recognises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfsm.fsm import load_flow, parse_flow
from turnfsm.fsm.phrases import Phrases, shipped_phrases

ACKNOWLEDGED = load_flow("turn").phrases["acknowledged"]


@pytest.mark.parametrize(
    "text",
    [
        "okay",
        "Okay, thank you.",
        "OK bye!",
        "yes please",
        "That's fine, thanks a lot. Bye-bye!",
        "mm-hm",
        "Ja, alles klar, vielen Dank, tschüß!",
        "tschuss",
        "Sí, muchas gracias, hasta luego.",
        "si muchas gracias",
        "D\u2019accord, merci, bonne journée",
        "c'est parfait, au revoir",
    ],
)
def test_an_acknowledgement_is_recognised(text: str) -> None:
    assert ACKNOWLEDGED.match(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "no",
        "no thank you",
        "okay but wait",
        "wait",
        "stop",
        "hold on",
        "one more thing",
        "thank you but I have another question",
        "okay and for two people",
        "never mind",
        "nein danke",
        "Moment noch",
        "no gracias",
        "espera",
        "non merci",
        "attendez",
    ],
)
def test_everything_else_is_none(text: str) -> None:
    assert not ACKNOWLEDGED.match(text)


def test_a_flow_adds_phrases_and_takes_some_away() -> None:
    text = (
        "flow: mine\nextends: turn\nphrases:\n"
        "  acknowledged: {also: [roger that, over and out], without: right}\n"
    )
    flow, findings = parse_flow(text)
    assert flow is not None, findings
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
    flow, findings = parse_flow(text)
    assert flow is not None, findings
    assert flow.phrases["wants_a_human"].match("Operator! Human, please.")


def test_a_list_of_phrases_comes_with_turnfsm() -> None:
    assert shipped_phrases() == ("acknowledgement", "backchannel", "stop_word")


@given(st.lists(st.sampled_from(["okay", "thank you", "bye bye", "no"]), min_size=1, max_size=6))
def test_words_count_if_they_are_a_sequence_of_phrases(parts: list[str]) -> None:
    phrases = Phrases(also=("okay", "thank you", "bye bye"))
    assert phrases.match(" ".join(parts)) == ("no" not in parts)


@given(st.text(max_size=60))
def test_any_text_can_be_judged(text: str) -> None:
    assert Phrases(lists=("acknowledgement",)).match(text) in (True, False)
