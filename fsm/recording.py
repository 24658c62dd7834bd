"""The form of recorded events, which recorders write and the audit reads."""

from __future__ import annotations

__all__ = ["VERSION", "words_of"]

VERSION = 1


def words_of(text: str) -> list[str]:
    """The words of a text, without punctuation and case."""
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()
