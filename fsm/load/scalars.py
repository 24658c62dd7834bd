"""The core schema of YAML 1.2: ``on``, ``yes`` and ``1:30`` are text."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["plain_value"]

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)"
)
_NUMBER = re.compile(r"[-+.0-9a-fA-FxoEe]+")


def plain_value(text: str) -> Any:
    """The value of an unquoted scalar in YAML 1.2: null, a boolean, a number, or text.

    Raises:
        ValueError: The number has more than 40 characters.
    """
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    if len(text) > 40 and _FLOAT.match(text) and _NUMBER.fullmatch(text):
        raise ValueError(text)
    if _INT.fullmatch(text):
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    if _FLOAT.fullmatch(text):
        special = text.lstrip("+-")[1:2].lower() in ("i", "n")
        return float(text.replace(".", "", 1) if special else text)
    return text
