"""How much of what they are asked for somebody has said."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from turnfsm.fsm.expect import KINDS, Expectation, Kind, expected_of, extent_of, problems_of
from turnfsm.fsm.expect.spoken import DIGITS, LETTERS, read

SAID = yaml.safe_load(Path(__file__).with_name("said.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("said", "signs"), SAID["digits"].items())
def test_digits_are_read_as_they_are_said(said: str, signs: str) -> None:
    assert read(said, DIGITS).signs == signs


@pytest.mark.parametrize(("said", "signs"), SAID["letters"].items())
def test_letters_are_read_as_they_are_spelled(said: str, signs: str) -> None:
    assert read(said, LETTERS + DIGITS).signs == signs


@pytest.mark.parametrize("case", SAID["extents"], ids=lambda case: str(case["expects"]))
def test_the_words_say_how_much_of_a_value_was_said(case: dict[str, Any]) -> None:
    expected = Expectation(**case["expects"])
    for extent, texts in [*case.items()][1:]:
        assert {said: extent_of(said, expected) for said in texts} == dict.fromkeys(texts, extent)


@pytest.mark.parametrize("said", SAID["no dictation"])
@pytest.mark.parametrize("kind", ["digits", "phone", "spelling", "date", "amount", "email"])
def test_a_sentence_with_a_number_in_it_is_no_dictation(said: str, kind: Kind) -> None:
    """Whatever is expected; so the turn ends as usual."""
    assert extent_of(said, Expectation(kind, length=10 if kind == "digits" else None)) == "unknown"


@pytest.mark.parametrize("said", SAID["led in"])
def test_dictation_may_begin_with_a_few_words_that_lead_to_it(said: str) -> None:
    assert extent_of(said, Expectation("digits", length=10)) == "partial"


@given(st.text(max_size=60), st.sampled_from(KINDS), st.integers(1, 12))
def test_any_text_has_an_extent(text: str, kind: str, length: int) -> None:
    expected = Expectation(kind, length=length, pattern=".*")  # type: ignore[arg-type]
    assert extent_of(text, expected) in ("whole", "partial", "unknown")


WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TENS = {"2": "twenty", "3": "thirty", "4": "forty", "5": "fifty", "6": "sixty", "9": "ninety"}
TEENS = {"11": "eleven", "12": "twelve", "13": "thirteen", "17": "seventeen", "19": "nineteen"}
FILLERS = ("uh", "um", "er", "let me see", "and then", "one moment", "so", "okay")
LEADS = ("", "my number is", "It's", "yeah sure, it's", "Oh, okay, so", "um,")


def spoken(number: str, draw: random.Random) -> Iterator[str]:
    """The number in words and numerals, piece by piece."""
    at = 0
    while at < len(number):
        two, digit = number[at : at + 2], number[at]
        how = draw.random()
        if len(two) == 2 and two[0] == two[1] and how < 0.5:
            times = 3 if number[at : at + 3] == digit * 3 and draw.random() < 0.5 else 2
            yield f"{'triple' if times == 3 else 'double'} {WORDS[int(digit)]}"
            at += times
        elif two in TEENS and how < 0.3:
            yield TEENS[two]
            at += 2
        elif len(two) == 2 and digit in TENS and two[1] != "0" and how < 0.2:
            yield f"{TENS[digit]} {WORDS[int(two[1])]}"
            at += 2
        elif digit == "0" and at and how < 0.4:
            yield "oh"
            at += 1
        else:
            yield digit if how < 0.6 else WORDS[int(digit)]
            at += 1


def dictation(number: str, draw: random.Random) -> list[list[str]]:
    """A number that is dictated in groups: the pieces of each final transcript."""
    groups: list[list[str]] = [[draw.choice(LEADS)]]
    for piece in spoken(number, draw):
        if draw.random() < 0.35:
            groups.append([])
        filler = draw.choice(FILLERS) + " " if draw.random() < 0.15 else ""
        comma = "," if draw.random() < 0.2 else ""
        groups[-1].append(filler + piece + comma)
    return [group for group in groups if any(group)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(10))
def test_no_dictation_is_cut_off_before_it_is_whole(seed: int) -> None:
    """A thousand numbers: after each final transcript but the last one the turn waits, and nothing
    before the last digit makes the value whole."""
    draw = random.Random(seed)
    for _ in range(1000):
        length = draw.randint(3, 14)
        number = "".join(draw.choice(DIGITS) for _ in range(length))
        groups = dictation(number, draw)
        finals = [" ".join(group).strip() for group in groups]
        expected = Expectation("digits", length=length)
        said = [" ".join(finals[: n + 1]) for n in range(len(finals))]
        assert [extent_of(text, expected) for text in said[:-1]] == ["partial"] * (len(said) - 1)
        assert extent_of(said[-1], expected) == "whole", said[-1]
        pieces = [piece for group in groups for piece in group]
        early = " ".join(pieces[: draw.randrange(len(pieces))])
        assert extent_of(early, expected) != "whole", early


@pytest.mark.parametrize(
    ("expected", "keys"),
    [
        (Expectation("digits"), ["length"]),
        (Expectation("pattern"), ["length", "pattern"]),
        (Expectation("pattern", length=2, pattern="("), ["pattern"]),
        (Expectation("digits", length=2, at_most=3), ["at_most"]),
        (Expectation("digits", at_least=4, at_most=3), ["at_most"]),
        (Expectation("digits", length=0), ["length"]),
        (Expectation("yes_no", length=1), ["length"]),
        (Expectation("date", pattern="x"), ["pattern"]),
        (Expectation("open", wait=0.0), ["wait"]),
        (Expectation("spelling"), []),
        (Expectation("digits", at_most=3), []),
        (Expectation("phone"), []),
        (Expectation("pattern", length=6, pattern=r"[A-Z]{2}\d{4}"), []),
    ],
)
def test_an_expectation_that_makes_no_sense_is_explained(
    expected: Expectation, keys: list[str]
) -> None:
    problems = list(problems_of(expected))
    assert [problem.key for problem in problems] == keys
    assert all(problem.message and problem.remedy for problem in problems)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"pattern": r"^\d{10}$"}, Expectation("digits", at_least=10, at_most=10, wait=2.0)),
        ({"pattern": "[0-9]{4,6}"}, Expectation("digits", at_least=4, at_most=6, wait=2.0)),
        ({"format": "email"}, Expectation("email", wait=2.0)),
        ({"format": "date"}, Expectation("date", wait=2.0)),
        ({"type": "boolean"}, Expectation("yes_no", wait=2.0)),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, Expectation("yes_no", wait=2.0)),
        (
            {"pattern": r"[A-Z]{2}\d+", "minLength": 4, "maxLength": 8},
            Expectation("pattern", at_least=4, at_most=8, pattern=r"[A-Z]{2}\d+", wait=2.0),
        ),
        ({"pattern": "[A-Z]+"}, None),
        ({"type": "string"}, None),
        ({"type": "integer"}, None),
    ],
)
def test_the_schema_of_a_parameter_says_what_is_expected(
    schema: dict[str, object], expected: Expectation | None
) -> None:
    assert expected_of(schema, 2.0) == expected
