"""Matches phrases in the user's text, for host facts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

import attrs

from .fields import Names, described, doc

__all__ = [
    "Phrase",
    "Phrases",
    "begins",
    "consists_of",
    "contains",
    "phrases_of",
    "shipped_phrases",
    "starts_with",
    "words_of",
]

_SHELF = Path(__file__).parents[1] / "specs" / "phrases"

_COMMENT = "#"
_APOSTROPHES = str.maketrans("", "", "'`\u2019\u02bc\u00b4")
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")
# Han, Hiragana and Katakana are written without spaces: each character counts as a word.
_NO_SPACES = re.compile(
    "([\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f])"
)

Phrase = tuple[str, ...]
"""The words of a phrase, as `words_of` gives them."""


@described
@attrs.frozen
class Phrases:
    """The phrases of a host fact: it is true if what the user has said consists of them.

    Case, accents and punctuation do not matter, nor how long a sound is drawn out ("yeahhh").

    Example:
        >>> from turnfsm import load_flow
        >>> acknowledged = load_flow("turn").phrases["acknowledged"]
        >>> acknowledged.match("Okay, thank you."), acknowledged.match("Okay, but wait.")
        (True, False)
        >>> acknowledged.match("thank", whole=False)
        True
    """

    lists: Names = doc(
        "Shipped lists of phrases: acknowledgement, backchannel, correction, filler, hesitation, "
        "hold, no, stop_word, yes. A list has several languages; all of them count.",
        default=(),
    )
    also: Names = doc("Phrases in addition to those of the lists.", default=())
    without: Names = doc("Phrases of the lists that do not count.", default=())
    anywhere: bool = doc(
        "It is enough that the utterance contains one of the phrases. false: it must consist of "
        "the phrases.",
        default=False,
    )

    def match(self, text: str, *, whole: bool = True) -> bool:
        """Whether a text matches these phrases. A text that contains no words does not match.

        Args:
            text: What was said.
            whole: False: more may follow, and its last word may be incomplete. Then the beginning
                of a phrase is enough.
        """
        known = _known(self)
        if self.anywhere:
            return contains(text, known.phrases)
        if whole:
            return consists_of(text, known.phrases)
        return begins(text, known.phrases, known.beginnings)


def shipped_phrases() -> tuple[str, ...]:
    """The names of the lists of phrases that come with turnfsm."""
    return tuple(sorted(path.name for path in _SHELF.iterdir() if path.is_dir()))


@cache
def phrases_of(name: str) -> frozenset[Phrase]:
    """The phrases of a shipped list, in all of its languages."""
    files = sorted((_SHELF / name).glob("*.txt"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    listed = " ".join("," if line.startswith(_COMMENT) else line for line in lines)
    return _split(listed.split(","))


def consists_of(text: str, phrases: Collection[Phrase]) -> bool:
    """Whether a text is a sequence of phrases."""
    words = words_of(text)
    return bool(words) and len(words) in _reached(words, phrases)


def begins(text: str, phrases: Collection[Phrase], beginnings: Collection[Phrase]) -> bool:
    """Whether a text may be the beginning of a sequence of phrases, with `beginnings_of` them."""
    words = words_of(text)
    reached = _reached(words, phrases)
    return bool(words) and any(n == len(words) or words[n:] in beginnings for n in reached)


def contains(text: str, phrases: Collection[Phrase]) -> bool:
    """Whether a text contains one of the phrases."""
    words = words_of(text)
    longest = max(map(len, phrases), default=0)
    ends = range(1, len(words) + 1)
    return any(words[start:end] in phrases for end in ends for start in _starts(end, longest))


def starts_with(text: str, phrases: Collection[Phrase]) -> bool:
    """Whether the first words of a text are one of the phrases."""
    words = words_of(text)
    return any(words[: len(phrase)] == phrase for phrase in phrases)


def words_of(text: str) -> Phrase:
    """The words of a text, without case, accents and punctuation.

    A character of a script that is written without spaces is a word.
    """
    # Japanese letters and Hindi signs keep their marks, unlike accents.
    composed = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES).casefold())
    plain = "".join(map(_without_accents, composed))
    return tuple(_NO_SPACES.sub(r" \1 ", _DRAWN_OUT.sub(r"\1", plain)).split())


def beginnings_of(phrases: Iterable[Phrase]) -> frozenset[Phrase]:
    """The possible beginnings of a phrase in an interim transcript; the last word may be
    incomplete."""
    return frozenset(
        (*phrase[:n], word[:upto])
        for phrase in phrases
        for n, word in enumerate(phrase)
        for upto in range(1, len(word) + 1)
    )


def _reached(words: Phrase, phrases: Collection[Phrase]) -> set[int]:
    """The indices in these words up to which they are a sequence of phrases."""
    longest = max(map(len, phrases), default=0)
    reached = {0}
    for end in range(1, len(words) + 1):
        starts = _starts(end, longest)
        if any(start in reached and words[start:end] in phrases for start in starts):
            reached.add(end)
    return reached


def _starts(end: int, longest: int) -> range:
    return range(max(0, end - longest), end)


@cache
def _without_accents(char: str) -> str:
    """A letter or digit without its accent, a sign that belongs to a letter, or a space."""
    if char.isascii():
        return char if char.isalnum() else " "
    if unicodedata.category(char).startswith("M"):
        return char
    if not char.isalnum():
        return " "
    letters = unicodedata.normalize("NFD", char)
    return letters[0] if letters[0] < "\u0530" else char  # Latin, Greek, Cyrillic


@attrs.frozen
class _Known:
    phrases: frozenset[Phrase]
    beginnings: frozenset[Phrase]


@cache
def _known(phrases: Phrases) -> _Known:
    listed = {phrase for name in phrases.lists for phrase in phrases_of(name)}
    known = frozenset((listed | _split(phrases.also)) - _split(phrases.without))
    return _Known(known, frozenset() if phrases.anywhere else beginnings_of(known))


def _split(phrases: Iterable[str]) -> frozenset[Phrase]:
    return frozenset(words for phrase in phrases if (words := words_of(phrase)))
