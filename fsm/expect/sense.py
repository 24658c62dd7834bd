"""Checks that an expectation makes sense."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from turnfsm.fsm.errors import quoted

from .expectation import Expectation

__all__ = ["Problem", "problems_of"]

_COUNTED = ("digits", "phone", "spelling", "pattern")
_NEEDS_LENGTH = ("digits", "pattern")
_LENGTHS = ("length", "at_least", "at_most")
_LONGEST_VALUE = 1000
_LONGEST_WAIT = 86_400


@attrs.frozen
class Problem:
    """A problem of an expectation.

    Attributes:
        key: The wrong or missing key.
        message: What is wrong.
        remedy: What to write instead.
        code: The code of the finding.
        missing: The key is not there.
    """

    key: str
    message: str
    remedy: str
    code: str = "contradiction"
    missing: bool = False


def problems_of(expected: Expectation) -> Iterator[Problem]:
    """All problems of an expectation.

    Example:
        >>> from turnfsm.fsm.expect import Expectation
        >>> from turnfsm.fsm.expect.sense import problems_of
        >>> [problem.message for problem in problems_of(Expectation("digits"))]
        ["an expectation of the kind 'digits' needs a length"]
    """
    yield from _lengths(expected)
    yield from _pattern(expected)
    if not 0 < expected.wait < _LONGEST_WAIT:
        message, remedy = f"wait is {expected.wait:g} s", "write seconds above 0 and below 86400"
        yield Problem("wait", message, remedy, code="range")


def _lengths(expected: Expectation) -> Iterator[Problem]:
    kind, given = quoted(expected.kind), [n for n in _LENGTHS if getattr(expected, n) is not None]
    if expected.kind not in _COUNTED:
        for key in given:
            message = f"an expectation of the kind {kind} has no {key!r}"
            yield Problem(key, message, f"remove {key!r}")
        return
    for key in given:
        value = getattr(expected, key)
        if not 0 < value <= _LONGEST_VALUE:
            remedy = f"write a whole number from 1 to {_LONGEST_VALUE}"
            yield Problem(key, f"{key} is {value}", remedy, code="range")
    if not given and expected.kind in _NEEDS_LENGTH:
        message = f"an expectation of the kind {kind} needs a length"
        remedy = "add 'length: 10', or 'at_least' and 'at_most'"
        yield Problem("length", message, remedy, code="missing-key", missing=True)
    if "length" in given and len(given) > 1:
        message = f"'length' and {given[1]!r} say different things"
        yield Problem(given[1], message, "keep 'length', or 'at_least' and 'at_most'")
    least, most = expected.at_least, expected.at_most
    if least is not None and most is not None and least > most:
        message, remedy = f"at_most is {most}, and at_least is {least}", "write the larger one last"
        yield Problem("at_most", message, remedy)


def _pattern(expected: Expectation) -> Iterator[Problem]:
    if expected.kind != "pattern":
        if expected.pattern is not None:
            message = f"an expectation of the kind {quoted(expected.kind)} has no 'pattern'"
            yield Problem("pattern", message, "write 'kind: pattern', or remove 'pattern'")
        return
    if expected.pattern is None:
        message = "an expectation of the kind 'pattern' lacks its regular expression"
        remedy = "add 'pattern: REGULAR EXPRESSION'"
        yield Problem("pattern", message, remedy, code="missing-key", missing=True)
        return
    try:
        re.compile(expected.pattern)
    except re.error as error:
        message = f"{quoted(expected.pattern)} is no regular expression: {error}"
        yield Problem("pattern", message, "write one as Python's module re reads it", code="type")
