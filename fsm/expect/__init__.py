"""What the user is asked for, and how much of it they have said."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .expectation import KINDS, Expectation, Kind
from .kinds import Extent, digits, pattern, phone, spelling, yes_no
from .parameter import Schema, expected_of
from .sense import Problem, problems_of
from .texts import amount, date, email

__all__ = [
    "KINDS",
    "Expectation",
    "Extent",
    "Kind",
    "Problem",
    "Schema",
    "expected_of",
    "extent_of",
    "problems_of",
]

_OF: Mapping[Kind, Callable[[str, Expectation], Extent]] = {
    "digits": digits,
    "phone": phone,
    "email": email,
    "spelling": spelling,
    "date": date,
    "amount": amount,
    "yes_no": yes_no,
    "pattern": pattern,
    "open": lambda text, expected: "unknown",
}


def extent_of(text: str, expected: Expectation) -> Extent:
    """How much of what the user is asked for they have said.

    Args:
        text: Their words so far, as the STT gives them.
        expected: What they are asked for.

    Returns:
        ``whole`` if all of it was said and nothing can follow; ``partial`` if more must follow;
        ``unknown`` if it may be complete and may go on, or if it is something else.

    Example:
        >>> from turnfsm.fsm.expect import Expectation, extent_of
        >>> number = Expectation("digits", length=4)
        >>> [extent_of(said, number) for said in ("um, four", "4 oh double", "four, oh, double 2")]
        ['partial', 'partial', 'whole']
        >>> extent_of("what for?", number)
        'unknown'
    """
    return _OF[expected.kind](text, expected)
