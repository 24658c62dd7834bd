"""Bare words, and the word errors between two texts."""

import pytest

from turnfsm.runtime.demo.words import word_errors, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Oh, I see.", "oh i see"),
        ("It's OK, I'm here; we won't stop.", "it is okay i am here we will not stop"),
        ("Don\N{RIGHT SINGLE QUOTATION MARK}t.", "do not"),
        ("Go 10 metres, then 25, then 40.", "go ten meters then twenty five then forty"),
        ("Parcel 29340 on row 07", "parcel two nine three four zero on row zero seven"),
        ("?!", ""),
    ],
)
def test_punctuation_and_spelling_make_no_difference(text: str, expected: str) -> None:
    """Punctuation, contractions, digits and spelling variants make no difference."""
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("said", "heard", "edits"),
    [
        ("I have arrived", "I have a right", 2),  # one substituted, one inserted
        ("one two three", "one three", 1),
        ("one two", "", 2),
        ("", "one", 1),
        ("Going forward ten meters.", "going forward 10 metres", 0),
        ("a b c d", "b c d a", 2),
    ],
)
def test_word_errors_are_the_fewest_edits(said: str, heard: str, edits: int) -> None:
    """The count is the Levenshtein distance in words."""
    assert word_errors(said, heard).edits == edits


def test_word_error_rate_is_per_word_said() -> None:
    """The rate divides by what was said, and words out of nothing are wholly wrong."""
    assert word_errors("one two three four", "one two three").rate == 0.25
    assert word_errors("", "").rate == 0.0
    assert word_errors("", "ghost").rate == 1.0
