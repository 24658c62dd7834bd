"""Recognises each kind of value: counted characters, yes or no, addresses, dates, amounts."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from turnfsm.fsm.phrases import Phrase, consists_of, contains, phrases_of, words_of

from .expectation import Expectation
from .spoken import DIGITS, LETTERS, corrected, is_filler, read, said_for

__all__ = ["Extent", "amount", "date", "digits", "email", "pattern", "phone", "spelling", "yes_no"]


_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.([a-z]{2,})")
_GENERIC = ("com", "org", "net", "edu", "gov", "info", "biz", "io", "ai", "app", "dev", "me")
_NATIONAL = ("de", "fr", "es", "it", "nl", "at", "ch", "eu")
_LAST = frozenset((*_GENERIC, *_NATIONAL))
"""Domains after which an address is complete."""

_SIGNS = ("@", ".", "-", "_", "+")
_NAME = 2
"""Words that may be the name at the beginning of an address; one more after "it's" and the like."""

_WRITTEN_DATE = re.compile(r"\b(\d{1,2}[/.-]\d{1,2}[/.-](\d{4}|\d{2})|\d{4}-\d{2}-\d{2})\b")
_CENTURIES = ("19", "20")
_WRITTEN_AMOUNT = re.compile(r"[$€£]\s*\d[\d,]*[.,]\d\d\b|\d[.,]\d\d\s*[$€£]")


def email(text: str, expected: Expectation) -> Extent:
    """An e-mail address, written or said: "john dot doe at example dot com"."""
    address, unknown = _joined(text)
    if "@" not in address:
        refuses = contains(text, phrases_of("no")) or corrected(text)
        begins = bool(words_of(text)) and (not unknown or _begins_address(text, address))
        other = refuses or text.rstrip().endswith("?")
        return "partial" if begins and not other else "unknown"
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return "partial"
    return "whole" if found[1] in _LAST and not corrected(text) else "unknown"


def date(text: str, expected: Expectation) -> Extent:
    """A date. After a day and a month, a year may or may not follow."""
    if _WRITTEN_DATE.search(text) or contains(text, said_for("near")):
        return "unknown" if corrected(text) else "whole"
    words = words_of(text)
    month, day = contains(text, said_for("month")), contains(text, said_for("day"))
    spoken = read(" ".join(_without(words, said_for("day"))), DIGITS)
    if not (month or day or spoken.signs):
        return "partial" if words and is_filler(words) else "unknown"
    if not (month or day or spoken.dictated):
        return "unknown"
    if not is_filler(_without(spoken.rest, said_for("month"))):
        return "unknown"
    extent = _year(spoken.signs, day=day) if month else _numbers(spoken.signs)
    unsure = spoken.loose or corrected(text)
    return "unknown" if extent == "whole" and unsure else extent


def amount(text: str, expected: Expectation) -> Extent:
    """An amount of money. Cents may or may not follow."""
    if _WRITTEN_AMOUNT.search(text) or _ends_with(text, said_for("small")):
        return "unknown" if corrected(text) else "whole"
    spoken = read(text, DIGITS)
    if not spoken.signs:
        return "partial" if is_filler(words_of(text)) and words_of(text) else "unknown"
    return "partial" if _ends_with(text, said_for("more")) or spoken.pending else "unknown"


def _joined(text: str) -> tuple[str, int]:
    """The text as one word, and how many of its words are neither signs nor fillers."""
    parts, unknown = [], 0
    for token in text.casefold().split():
        token = token.strip(",;:!?\"'").rstrip(".")
        words = words_of(token)
        sign = next((sign for sign in _SIGNS if words in said_for(sign)), None)
        if sign is not None:
            parts.append(sign)
        elif parts or not (words and is_filler(words)):
            spoken = read(token, DIGITS).signs
            parts.append(spoken or token)
            unknown += not spoken and len(token) > 1
    address = "".join(parts)
    before, at, after = address.partition("@")
    return f"{before}{at}{after}", unknown


def _begins_address(text: str, address: str) -> bool:
    """Whether a name was said, or a name and a sign such as "dot", and not a whole sentence."""
    lead = said_for("lead")
    words = _without(words_of(text), phrases_of("filler") | lead)
    if contains(text, lead) or any(sign in address for sign in _SIGNS):
        return len(words) <= _NAME + 1
    return len(words) <= _NAME and not read(text, DIGITS).signs


def _year(signs: str, *, day: bool) -> Extent:
    """A month was said, and these digits: the day, if still missing, and a year."""
    if day:
        unfinished = signs in _CENTURIES or len(signs) in (1, 3)
        return "partial" if unfinished else "whole" if signs else "unknown"
    if len(signs) <= 2:
        return "unknown" if signs else "partial"
    return "partial" if signs[-2:] in _CENTURIES and len(signs) <= 4 else "whole"


def _numbers(signs: str) -> Extent:
    """No month was said: day, month and year are numbers."""
    if len(signs) >= 8:
        return "whole"
    return "unknown" if len(signs) >= 6 else "partial"


def _without(words: Phrase, phrases: Collection[Phrase]) -> Phrase:
    """The words without these phrases, the longest removed first."""
    left: list[str] = []
    at, longest = 0, max(map(len, phrases), default=0)
    while at < len(words):
        taken = next((n for n in range(longest, 0, -1) if words[at : at + n] in phrases), 0)
        left += () if taken else (words[at],)
        at += taken or 1
    return tuple(left)


def _ends_with(text: str, phrases: Collection[Phrase]) -> bool:
    words = words_of(text)
    return any(words[-len(phrase) :] == phrase for phrase in phrases)


Extent = Literal["whole", "partial", "unknown"]
"""How much of a value was said. ``whole``: all of it, and nothing can follow. ``partial``: more
must follow. ``unknown``: it may be complete and may go on, or it is something else."""

_ABROAD = ("+", "00")
_PHONE = (10, 15)
"""The fewest and the most digits of a phone number whose length is not declared."""


def digits(text: str, expected: Expectation) -> Extent:
    """A number of digits."""
    return _counted(text, DIGITS, expected.fewest, expected.most)


def spelling(text: str, expected: Expectation) -> Extent:
    """A spelled word. Without a length more letters may always follow."""
    return _counted(text, LETTERS + DIGITS, expected.fewest, expected.most)


def pattern(text: str, expected: Expectation) -> Extent:
    """Characters that match a regular expression."""
    extent = _counted(text, LETTERS + DIGITS, expected.fewest, expected.most)
    signs = read(text, LETTERS + DIGITS).signs
    if extent == "whole" and not re.fullmatch(expected.pattern or "", signs, re.IGNORECASE):
        return "unknown"
    return extent


def phone(text: str, expected: Expectation) -> Extent:
    """A phone number, with or without a country code.

    A national number whose length is not declared has ten digits, or eleven if it begins with 1. If
    it begins with 0, it has ten or more.
    """
    signs = read(text, DIGITS + "+").signs
    abroad = signs.startswith(_ABROAD)
    fewest, most = expected.fewest, expected.most
    if abroad:  # a country code has one to three digits
        prefix = 2 if signs.startswith("00") else 0
        fewest, most = (fewest or 7) + 1 + prefix, _PHONE[1] + prefix
    elif signs.startswith("1") and fewest in (None, _PHONE[0]):
        fewest = most = _PHONE[0] + 1
    elif fewest is None:
        fewest, most = _PHONE[0], _PHONE[1] if signs.startswith("0") else _PHONE[0]
    return _counted(text, DIGITS, fewest, most)


def yes_no(text: str, expected: Expectation) -> Extent:
    """Yes or no, perhaps among words such as "um". After "mhm" or "thanks" nothing must follow."""
    answers, fillers = phrases_of("yes") | phrases_of("no"), phrases_of("filler")
    if not consists_of(text, answers | fillers):
        return "unknown"
    if contains(text, answers):
        return "whole"
    replies = phrases_of("acknowledgement") - phrases_of("hesitation")
    return "unknown" if contains(text, replies) else "partial"


def _counted(text: str, alphabet: str, fewest: int | None, most: int | None) -> Extent:
    spoken = read(text, alphabet)
    count = len(spoken.signs)
    if count == 0 and not (spoken.pending or words_of(text)):
        return "unknown"
    if not (spoken.dictated and is_filler(spoken.rest)):
        return "unknown"
    if spoken.pending or fewest is None or count < fewest:
        return "partial"
    sure = count == most and not (spoken.loose or corrected(text))
    return "whole" if sure else "unknown"
