"""Expected values, such as ten digits, and how much of one the user has said."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .expectation import KINDS, Expectation, Kind, Schema, expected_of
from .kinds import Extent, amount, date, digits, email, pattern, phone, spelling, yes_no
from .sense import problems_of

__all__ = [
    "KINDS",
    "Expectation",
    "Extent",
    "Kind",
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
    """How much of an expected value the user has said.

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
