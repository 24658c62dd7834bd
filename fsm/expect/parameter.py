"""The value that a tool's parameter expects, by its JSON schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .expectation import Expectation, Kind

__all__ = ["Schema", "expected_of"]

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
        >>> from turnfsm.fsm.expect.parameter import expected_of
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
