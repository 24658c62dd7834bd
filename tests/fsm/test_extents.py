"""How much of what they are asked for somebody has said."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfsm.fsm.expect import KINDS, Expectation, Extent, Kind, expected_of, extent_of, problems_of
from turnfsm.fsm.expect.spoken import DIGITS, LETTERS, read

FOUR = Expectation("digits", length=4)
TEN = Expectation("digits", length=10)
PHONE = Expectation("phone")
YES_NO = Expectation("yes_no")
PLATE = Expectation("pattern", length=6, pattern=r"[A-Z]{2}\d{4}")
NAME = Expectation("spelling", length=4)


@pytest.mark.parametrize(
    ("said", "signs"),
    [
        ("four two", "42"),
        ("4 2", "42"),
        ("42-17", "4217"),
        ("4, 2. 1", "421"),
        ("forty two", "42"),
        ("forty-two", "42"),
        ("forty", "40"),
        ("forty 2", "402"),
        ("nineteen eighty four", "1984"),
        ("eight hundred five five five", "800555"),
        ("two thousand", "2000"),
        ("double seven", "77"),
        ("triple oh", "000"),
        ("double twenty", "2020"),
        ("four oh two", "402"),
        ("o 7 o", "070"),
        ("oh four two", "042"),
        ("Oh, four two", "42"),
        ("Oh, okay. It's 4 2", "42"),
        ("one moment, four", "4"),
        ("just a second, um, four", "4"),
        ("four uh two", "42"),
        ("null vier zwo fünf", "0425"),
        ("doppel sieben", "77"),
        ("einen Moment, drei", "3"),
        ("cero uno dos", "012"),
        ("un momento, tres", "3"),
        ("doble siete", "77"),
        ("hundreds of people", ""),
        ("double room", ""),
        ("", ""),
    ],
)
def test_digits_are_read_as_they_are_said(said: str, signs: str) -> None:
    assert read(said, DIGITS).signs == signs


@pytest.mark.parametrize(
    ("said", "signs"),
    [
        ("j o h n", "john"),
        ("J-O-H-N", "john"),
        ("jay oh aitch en", "j0hn"),
        ("J as in Juliet, O as in Oscar", "jo"),
        ("m as in mike", "m"),
        ("M for mother, double L", "mll"),
        ("M wie Martha", "m"),
        ("M de Madrid", "m"),
        ("november oscar", "no"),
        ("double u", "w"),
        ("b12", "b12"),
        ("in March, first of all", ""),
    ],
)
def test_letters_are_read_as_they_are_spelled(said: str, signs: str) -> None:
    assert read(said, LETTERS + DIGITS).signs == signs


@pytest.mark.parametrize(
    ("said", "expected", "extent"),
    [
        # digits
        ("", FOUR, "unknown"),
        ("...", FOUR, "unknown"),
        ("four oh", FOUR, "partial"),
        ("four oh double", FOUR, "partial"),
        ("four oh double two", FOUR, "whole"),
        ("4022, uh", FOUR, "whole"),
        ("4 0 twenty", FOUR, "unknown"),  # "two" may follow
        ("40221", FOUR, "unknown"),
        ("um", FOUR, "partial"),
        ("yeah sure, it's", FOUR, "partial"),
        ("hold on", FOUR, "partial"),
        ("I have 2 questions", FOUR, "unknown"),
        ("what do you need it for", FOUR, "unknown"),
        ("no", FOUR, "unknown"),
        ("4 0 no sorry 4", FOUR, "partial"),
        ("4 0 no sorry 4 1", FOUR, "unknown"),
        ("12", Expectation("digits", at_least=2, at_most=4), "unknown"),
        ("1", Expectation("digits", at_least=2, at_most=4), "partial"),
        ("1234", Expectation("digits", at_least=2, at_most=4), "whole"),
        ("1234", Expectation("digits", at_least=2), "unknown"),
        # phone numbers
        ("555 123", PHONE, "partial"),
        ("555 123 4567", PHONE, "whole"),
        ("1 555 123 456", PHONE, "partial"),
        ("1 555 123 4567", PHONE, "whole"),
        ("07700 900 1", PHONE, "partial"),
        ("07700 900 123", PHONE, "unknown"),
        ("+1 555 12", PHONE, "partial"),
        ("plus one 555 123 4567", PHONE, "unknown"),
        ("555 123 4567 extension", PHONE, "unknown"),
        ("+1 555 123 456", Expectation("phone", length=10), "partial"),
        ("1 555 123 456", Expectation("phone", length=10), "partial"),
        ("1 555 123 4567", Expectation("phone", length=10), "whole"),
        ("612 345 678", Expectation("phone", length=9), "whole"),
        # yes and no
        ("yes", YES_NO, "whole"),
        ("Yeah, that's right.", YES_NO, "whole"),
        ("no, thank you", YES_NO, "whole"),
        ("um, no", YES_NO, "whole"),
        ("ja", YES_NO, "whole"),
        ("Nein, danke.", YES_NO, "whole"),
        ("sí", YES_NO, "whole"),
        ("no gracias", YES_NO, "whole"),
        ("well", YES_NO, "partial"),
        ("yes but", YES_NO, "unknown"),
        ("on Monday", YES_NO, "unknown"),
        ("", YES_NO, "unknown"),
        # spelling
        ("j o", NAME, "partial"),
        ("my name is j o h", NAME, "partial"),
        ("J-O-H-N", NAME, "whole"),
        ("j as in", NAME, "partial"),
        ("j o h n", Expectation("spelling"), "partial"),
        ("John", NAME, "unknown"),
        ("JOHN", NAME, "whole"),
        ("IS THIS A TEST", NAME, "unknown"),
        # patterns
        ("A B 1 2", PLATE, "partial"),
        ("AB 1234", PLATE, "whole"),
        ("AB 123", PLATE, "partial"),
        ("A B twelve thirty four", PLATE, "whole"),
        ("1 2 3 4 A B", PLATE, "unknown"),
        # e-mail
        ("it's john", Expectation("email"), "partial"),
        ("john dot doe at", Expectation("email"), "partial"),
        ("john dot doe at example", Expectation("email"), "partial"),
        ("john dot doe at example dot com", Expectation("email"), "whole"),
        ("John.Doe@example.com.", Expectation("email"), "whole"),
        (
            "my email is john underscore 7 at mail dot example dot org",
            Expectation("email"),
            "whole",
        ),
        ("john at example dot co", Expectation("email"), "unknown"),
        ("I don't have one", Expectation("email"), "unknown"),
        ("sorry, what?", Expectation("email"), "unknown"),
        # dates
        ("the fifth", Expectation("date"), "partial"),
        ("the fifth of", Expectation("date"), "partial"),
        ("the fifth of March", Expectation("date"), "unknown"),
        ("the fifth of March nineteen", Expectation("date"), "partial"),
        ("the fifth of March nineteen ninety", Expectation("date"), "unknown"),
        ("the fifth of March 1990", Expectation("date"), "whole"),
        ("the fifth of March ninety one", Expectation("date"), "whole"),
        ("March 5, 1990", Expectation("date"), "whole"),
        ("March 5", Expectation("date"), "unknown"),
        ("March 5 19", Expectation("date"), "partial"),
        ("March", Expectation("date"), "partial"),
        ("5/3/1990", Expectation("date"), "whole"),
        ("5 3", Expectation("date"), "partial"),
        ("tomorrow", Expectation("date"), "whole"),
        ("I was born on", Expectation("date"), "partial"),
        ("why do you ask", Expectation("date"), "unknown"),
        # amounts
        ("it would be", Expectation("amount"), "partial"),
        ("twenty five", Expectation("amount"), "unknown"),
        ("twenty dollars", Expectation("amount"), "unknown"),
        ("twenty dollars and", Expectation("amount"), "partial"),
        ("twenty dollars and fifty cents", Expectation("amount"), "whole"),
        ("$25.50", Expectation("amount"), "whole"),
        ("as much as you can", Expectation("amount"), "unknown"),
        # anything
        ("yes", Expectation("open"), "unknown"),
        ("um", Expectation("open"), "unknown"),
    ],
)
def test_the_words_say_how_much_of_a_value_was_said(
    said: str, expected: Expectation, extent: Extent
) -> None:
    assert extent_of(said, expected) == extent


@pytest.mark.parametrize(
    "said",
    [
        "please transfer fifty",
        "what about flight two",
        "I want one",
        "transfer five hundred",
        "transfer 1200",
        "can I have two",
        "I'd like a double",
        "I have 2 questions about flight 4",
        "bitte überweisen Sie fünfzig",
        "quiero dos",
    ],
)
@pytest.mark.parametrize("kind", ["digits", "phone", "spelling", "date", "amount", "email"])
def test_a_sentence_with_a_number_in_it_is_no_dictation(said: str, kind: Kind) -> None:
    """Whatever is expected; so the turn ends as usual."""
    assert extent_of(said, Expectation(kind, length=10 if kind == "digits" else None)) == "unknown"


@pytest.mark.parametrize(
    "said",
    [
        "my membership card number is four",
        "you can reach me at 555",
        "yes hello this is John Smith and my number is 4 2",
        "let me read it five five five",  # three in a row
        "5 5 5 hang on let me grab my glasses 1 2",
        "the card ends in, uh, four two",
        "five five no sorry four",
        "K one two",
        "die Nummer lautet null vier",
        "es son cuatro dos",
    ],
)
def test_dictation_may_begin_with_a_few_words_that_lead_to_it(said: str) -> None:
    assert extent_of(said, TEN) == "partial"


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
        (PHONE, []),
        (PLATE, []),
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
