"""Recognises values of counted characters, and yes or no."""

from __future__ import annotations

import re
from typing import Literal

from turnfsm.fsm.phrases import consists_of, contains, phrases_of, words_of

from .expectation import Expectation
from .spoken import DIGITS, LETTERS, corrected, is_filler, read

__all__ = ["Extent", "digits", "pattern", "phone", "spelling", "yes_no"]

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
    """Yes or no, perhaps among words such as "um"."""
    answers, fillers = phrases_of("yes") | phrases_of("no"), phrases_of("filler")
    if not consists_of(text, answers | fillers):
        return "unknown"
    return "whole" if contains(text, answers) else "partial"


def _counted(text: str, alphabet: str, fewest: int | None, most: int | None) -> Extent:
    spoken = read(text, alphabet)
    count = len(spoken.signs)
    if count == 0 and not (spoken.pending or words_of(text)):
        return "unknown"
    if not is_filler(spoken.rest):
        return "unknown"
    if spoken.pending or fewest is None or count < fewest:
        return "partial"
    sure = count == most and not (spoken.loose or corrected(text))
    return "whole" if sure else "unknown"
