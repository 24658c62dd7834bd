"""Reads spoken digits, letters and signs: "double seven", "forty two", "m as in Mike".

The phrases for each sign are data in `specs/spoken`, one file per language. All languages apply.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import attrs

from turnfsm.fsm.phrases import Phrase, consists_of, contains, phrases_of, words_of

__all__ = ["DIGITS", "LETTERS", "Spoken", "corrected", "is_filler", "read", "said_for"]

DIGITS = "0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyz"

_SHELF = Path(__file__).parents[2] / "specs" / "spoken"
_TIMES = {"twice": 2, "thrice": 3}
_EXPLAINS = "as"
_LEAD = "lead"
_FEW = 3
"""Words that may stand before a lead, as in "my membership card number is"."""
_IN_A_ROW = 3
"""So many numbers or letters in a row are dictation, whatever stands before them."""
_LONGEST = 5
"""Number of words of the longest phrase."""

_INTERJECTION = re.compile(r"^\W*oh?\s*[,!.]+", re.IGNORECASE)
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_SHOUTED = 3
"""With more words than this in capitals, capitals do not mean letters: the STT writes everything
so."""

_NUMERAL = re.compile(r"\d+|[^\W\d_]|(?=\w*\d)\w+")
"""A word that consists of signs: a number, a letter, or both, such as "b12"."""


@attrs.frozen
class Spoken:
    """The signs in what was said.

    Attributes:
        signs: All of them, in order.
        rest: The words after the last one.
        pending: A sign must follow: the last word is one like "double".
        loose: A digit may follow that belongs to the last number: "forty" may become "forty two".
        dictated: The signs are dictation, and no part of a sentence such as "flight two": nothing
            but fillers and corrections stands beside them, or a lead such as "my booking code is"
            before them, or there are several in a row.
    """

    signs: str = ""
    rest: Phrase = ()
    pending: bool = False
    loose: bool = False
    dictated: bool = True


def read(text: str, alphabet: str) -> Spoken:
    """The signs of an alphabet in what was said.

    Example:
        >>> from turnfsm.fsm.expect.spoken import DIGITS, read
        >>> read("it's four two, uh, double seven", DIGITS).signs
        '4277'
    """
    text = _INTERJECTION.sub("", text)
    if LETTERS[0] in alphabet and (text.upper() != text or len(text.split()) <= _SHOUTED):
        text = _CAPITALS.sub(lambda found: " ".join(found[0]), text)
    return _Reader(words_of(text), alphabet).read()


def is_filler(words: Phrase) -> bool:
    """Whether these words are only fillers, as in dictation. True if there are none."""
    return not words or consists_of(" ".join(words), phrases_of("filler"))


def corrected(text: str) -> bool:
    """Whether the speaker has taken back a part of what was said."""
    return contains(text, phrases_of("correction"))


def said_for(sign: str) -> frozenset[Phrase]:
    """The phrases for a sign, or for any other key of `specs/spoken`, in all languages."""
    return frozenset(phrase for phrase, meant in _lexicon().items() if sign in meant)


class _Reader:
    def __init__(self, words: Phrase, alphabet: str) -> None:
        self._words = words
        self._alphabet = alphabet
        self._signs: list[str] = []
        self._end = 0  # of the last sign
        self._times = 1
        self._tens = False  # the last sign was a word such as "forty"
        self._other = 0  # words that are neither signs nor fillers
        self._lead = self._begun = self._apart = False
        self._row = self._longest_row = 0

    def read(self) -> Spoken:
        at = 0
        while at < len(self._words):
            at += self._step(at)
        pending = self._times > 1
        rest = () if pending else self._words[self._end :]
        dictated = not self._apart or self._longest_row >= _IN_A_ROW
        return Spoken("".join(self._signs), rest, pending, self._tens, dictated)

    def _step(self, at: int) -> int:
        """Read the phrase at an index. Returns its number of words."""
        meant, taken = self._meaning(at)
        filler = _longest_at(self._words, at, phrases_of("filler"))
        if filler > taken:
            return self._beside(at, filler)
        for word, times in _TIMES.items():
            if word in meant:
                self._times = times
                self._begin()
                return taken
        if _EXPLAINS in meant and self._signs and self._end == at and at + taken < len(self._words):
            self._end = at + taken + 1  # the word after it is no sign
            return taken + 1
        sign = next((m for m in meant if self._is_sign(m, self._words[at])), None)
        if sign is None or not self._fits(sign, at, taken):
            return self._beside(at, max(taken, filler), meant)
        self._begin()
        self._take(sign, numeral=self._words[at] == sign)
        self._row += set(sign) != {"0"} or len(sign) == 1  # "hundred" is of the number before it
        self._longest_row = max(self._row, self._longest_row)
        self._end = at + taken
        return taken

    def _begin(self) -> None:
        """A sign follows what stands before it."""
        lacks_lead = not self._lead or self._other > _FEW
        self._apart |= self._other > 0 and (self._begun or lacks_lead)
        self._begun, self._other = True, 0

    def _beside(self, at: int, taken: int, meant: tuple[str, ...] = ()) -> int:
        """Words that are no signs of the alphabet."""
        lead, taken_back = said_for(_LEAD), phrases_of("correction")
        known = [_longest_at(self._words, at, phrases) for phrases in (lead, taken_back)]
        taken = max(taken, 1, *known)
        words = self._words[at : at + taken]
        if known[0] == taken or any(words[-n:] in lead for n in range(1, taken)):
            self._lead = True
        elif not (
            known[1] == taken or words in phrases_of("filler") or _is_other_sign(words, meant)
        ):
            self._lead = False
            self._other += taken
            self._row = 0
        return self._skip(taken)

    def _is_sign(self, meant: str, word: str) -> bool:
        named = len(meant) > 1 and not meant.isdigit()  # such as `month`
        return set(meant) <= set(self._alphabet) and (not named or meant == word)

    def _skip(self, taken: int) -> int:
        self._times, self._tens = 1, False
        return taken

    def _take(self, sign: str, *, numeral: bool) -> None:
        ones = not numeral and len(sign) == 1 and sign in DIGITS[1:]
        if self._tens and ones and self._times == 1:  # "forty two"
            self._signs[-1] = self._signs[-1][0] + sign
            self._tens = False
        else:
            self._signs.append(sign * self._times)
            self._tens = not numeral and len(sign) == 2 and sign[1] == "0" and sign > "19"
        self._times = 1

    def _meaning(self, at: int) -> tuple[tuple[str, ...], int]:
        """The possible meanings of the longest phrase at an index, and its number of words."""
        for length in range(min(_LONGEST, len(self._words) - at), 0, -1):
            if meant := _lexicon().get(self._words[at : at + length]):
                if length == 1 and len(self._words[at]) == 1:
                    return (self._words[at], *meant), 1  # "o" is a letter, too
                return meant, length
        word = self._words[at]
        return ((word,), 1) if _NUMERAL.fullmatch(word) else ((), 0)

    def _fits(self, sign: str, at: int, taken: int) -> bool:
        """At the beginning "oh" is a sign only before another one, and "hundred" only after one."""
        if set(sign) == {"0"} and len(sign) > 1 and not sign.startswith(self._words[at]):
            return bool(self._signs) and self._end == at
        if self._words[at] not in ("oh", "o") or self._signs or self._times > 1:
            return True
        return at + taken < len(self._words) and bool(self._meaning(at + taken)[0])


def _longest_at(words: Phrase, at: int, known: Collection[Phrase]) -> int:
    """The number of words of the longest of these phrases at an index; 0 if there is none."""
    lengths = range(min(_LONGEST, len(words) - at), 0, -1)
    return next((n for n in lengths if words[at : at + n] in known), 0)


def _is_other_sign(words: Phrase, meant: tuple[str, ...]) -> bool:
    """Whether it is a sign of another alphabet: a letter, or one such as "plus"."""
    letter = len(words) == 1 and len(words[0]) == 1
    return letter or any(len(sign) == 1 and sign not in LETTERS for sign in meant)


@cache
def _lexicon() -> Mapping[Phrase, tuple[str, ...]]:
    found: dict[Phrase, list[str]] = defaultdict(list)
    for file in sorted(_SHELF.glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                sign, _, phrases = line.partition(": ")
                for phrase in phrases.split(","):
                    found[words_of(phrase)].append(sign)
    return {phrase: tuple(signs) for phrase, signs in found.items()}
