"""Phrases that a host fact finds in what the user has said."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

import attrs

from .flow_parts import Names, doc

__all__ = ["Phrases", "consists_of", "shipped_phrases"]

_SHELF = Path(__file__).parents[1] / "specs" / "phrases"

_NO_PHRASES = ("#", "[")  # comments, and the language of what follows
_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("", "", "'`\u2019\u02bc\u00b4")

Phrase = tuple[str, ...]


@attrs.frozen
class Phrases:
    """The phrases of a host fact: it is true if what the user has said consists of them.

    Case, accents and punctuation do not matter.

    Attributes:
        lists: Shipped lists. Each has phrases in several languages, and all of them count.
        also: Phrases in addition.
        without: Phrases of these lists that do not count.

    Example:
        >>> from turnfsm import load_flow
        >>> acknowledged = load_flow("turn").phrases["acknowledged"]
        >>> acknowledged.match("Okay, thank you."), acknowledged.match("Okay, but wait.")
        (True, False)
    """

    lists: Names = doc(
        "Shipped lists of phrases: acknowledgement. A list has several languages; all of them "
        "count.",
        default=(),
    )
    also: Names = doc("Phrases in addition to those of the lists.", default=())
    without: Names = doc("Phrases of the lists that do not count.", default=())

    def match(self, text: str) -> bool:
        """Whether a text consists of these phrases. A text without words does not."""
        return consists_of(text, _phrases_of(self))


def shipped_phrases() -> tuple[str, ...]:
    """The names of the lists of phrases that come with turnfsm."""
    return tuple(sorted(path.stem for path in _SHELF.glob("*.txt")))


def consists_of(text: str, phrases: Collection[Phrase]) -> bool:
    """Whether a text is a sequence of phrases.

    Args:
        text: What was said.
        phrases: Each a tuple of words as `words_of` gives them.
    """
    words = words_of(text)
    longest = max(map(len, phrases), default=0)
    reached = {0}
    for end in range(1, len(words) + 1):
        starts = range(max(0, end - longest), end)
        if any(start in reached and words[start:end] in phrases for start in starts):
            reached.add(end)
    return bool(words) and len(words) in reached


def words_of(text: str) -> Phrase:
    """The words of a text, without case, accents and punctuation."""
    plain = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES).casefold())
    return tuple(_WORD.findall("".join(c for c in plain if not unicodedata.combining(c))))


@cache
def _phrases_of(phrases: Phrases) -> frozenset[Phrase]:
    listed = {phrase for name in phrases.lists for phrase in _shipped(name)}
    return frozenset((listed | _split(phrases.also)) - _split(phrases.without))


@cache
def _shipped(name: str) -> frozenset[Phrase]:
    lines = (_SHELF / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    listed = " ".join("," if line.startswith(_NO_PHRASES) else line for line in lines)
    return _split(listed.split(","))


def _split(phrases: Iterable[str]) -> frozenset[Phrase]:
    return frozenset(words for phrase in phrases if (words := words_of(phrase)))
