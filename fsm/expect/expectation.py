"""The value that a question asks for, as a flow or an application declares it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

import attrs

from turnfsm.fsm.fields import described, doc

__all__ = ["KINDS", "Expectation", "Kind", "Schema", "expected_of"]


Schema = Mapping[str, Any]
"""A JSON schema."""

_FORMATS: Mapping[str, Kind] = {
    "email": "email",
    "idn-email": "email",
    "date": "date",
    "phone": "phone",
    "tel": "phone",
}
_DIGITS = re.compile(r"\^?(?:\\d|\[0-9\])\{(\d+)(?:,(\d+))?\}\$?")


def expected_of(schema: Schema, wait: float) -> Expectation | None:
    """The value that a parameter expects; None if its schema says too little.

    Args:
        schema: The JSON schema of the parameter.
        wait: Seconds of silence after which an incomplete value is accepted.

    Example:
        >>> from turnfsm.fsm.expect.expectation import expected_of
        >>> str(expected_of({"type": "string", "pattern": r"^\\d{10}$"}, 4.0))
        'digits (at_least 10, at_most 10, wait 4.0)'
    """
    for option in schema.get("anyOf", ()):
        if option.get("type") != "null":
            return expected_of(option, wait)
    if schema.get("type") == "boolean":
        return Expectation("yes_no", wait=wait)
    if (kind := _FORMATS.get(schema.get("format", ""))) is not None:
        return Expectation(kind, wait=wait)
    pattern, least, most = (schema.get(key) for key in ("pattern", "minLength", "maxLength"))
    if pattern is None:
        return None
    if (digits := _DIGITS.fullmatch(pattern)) is not None:
        least, most = int(digits[1]), int(digits[2] or digits[1])
        return Expectation("digits", at_least=least, at_most=most, wait=wait)
    if most is None:
        return None
    return Expectation("pattern", at_least=least, at_most=most, pattern=pattern, wait=wait)


Kind = Literal[
    "digits",
    "phone",
    "email",
    "spelling",
    "date",
    "amount",
    "yes_no",
    "pattern",
    "open",
]
"""The kinds of values. ``open``: anything, so the transcript decides nothing."""

KINDS: tuple[str, ...] = get_args(Kind)


@described
@attrs.frozen
class Expectation:
    """The value that the user is expected to say.

    Example:
        >>> from turnfsm.fsm.expect import Expectation, extent_of
        >>> extent_of("five five five", Expectation("digits", length=10))
        'partial'
    """

    kind: Kind = doc(
        "What it is: so many digits; a phone number; an e-mail address; a word that is spelled; a "
        "date; an amount of money; yes or no; characters that match a regular expression; open: "
        "anything, so that LiveKit alone decides."
    )
    length: int | None = doc("How many digits, letters or characters it has.", default=None)
    at_least: int | None = doc("The minimum, instead of `length`.", default=None)
    at_most: int | None = doc("The maximum, instead of `length`.", default=None)
    pattern: str | None = doc(
        "A regular expression for its letters and digits, without spaces; case does not matter. "
        "For the kind `pattern`, together with the length.",
        default=None,
    )
    wait: float = doc(
        "Seconds without a new word after which the turn ends although a part is missing.",
        default=4.0,
    )

    def __str__(self) -> str:
        fields = (f.name for f in attrs.fields(Expectation) if f.name != "kind")
        given = [f"{name} {value}" for name in fields if (value := getattr(self, name)) is not None]
        return f"{self.kind} ({', '.join(given)})"

    @property
    def fewest(self) -> int | None:
        """The minimum number of characters; None if no length is declared."""
        if self.length is not None or self.at_most is None:
            return self.length if self.length is not None else self.at_least
        return self.at_least or 1

    @property
    def most(self) -> int | None:
        """The maximum number of characters; None if that is not declared."""
        return self.length if self.length is not None else self.at_most
