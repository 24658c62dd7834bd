"""The form of recorded events, which recorders write and the audit reads."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .phrases import phrases_of, starts_with

__all__ = ["VERSION", "arguments_of", "corrects", "words_of"]

VERSION = 1


def words_of(text: str) -> list[str]:
    """The words of a text, without punctuation and case."""
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()


def corrects(text: str) -> bool:
    """Whether the user takes something back: the text begins with a phrase such as "no"."""
    return starts_with(text, phrases_of("correction"))


def arguments_of(arguments: str | Mapping[str, object]) -> dict[str, str]:
    """The arguments of a call, each as JSON; empty if they are no JSON object."""
    try:
        read = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
        return {name: json.dumps(value, sort_keys=True) for name, value in read.items()}
    except (AttributeError, TypeError, ValueError):
        return {}
