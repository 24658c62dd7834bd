"""Helpers for the fields of a flow's classes.

A field that may be written in YAML has the sentence that an editor shows (``metadata["doc"]``) and,
if it differs from its name, its key (``metadata["yaml"]``).
"""

from __future__ import annotations

import re
from typing import Any, NewType, TypeVar

import attrs

__all__ = ["Names", "Texts", "described", "doc", "loaded", "note_kind", "yaml_name"]

T = TypeVar("T", bound=attrs.AttrsInstance)

Names = tuple[str, ...]
"""One name or a list of names in YAML; always a tuple here."""

Texts = NewType("Texts", Names)
"""One text or a list of texts in YAML; always a tuple here."""


def doc(sentence: str, yaml: str | None = None, *, amount: bool = False, **field: Any) -> Any:
    """A field of the YAML, with the sentence that an editor shows and its key.

    Args:
        sentence: What it means.
        yaml: Its key, if that is not its name.
        amount: A number in it is no number of seconds.
        field: Arguments of `attrs.field`.
    """
    known = {"doc": sentence, "amount": amount} | ({"yaml": yaml} if yaml else {})
    return attrs.field(metadata=known, **field)


def loaded(sentence: str, **field: Any) -> Any:
    """A field that the loader fills; it is not a key in YAML."""
    return attrs.field(metadata={"doc": sentence, "internal": True}, **field)


def described(kind: type[T]) -> type[T]:
    """Add the sentences of a class's fields to its docstring, below `Attributes:`."""
    meaning, example, rest = (kind.__doc__ or "").rstrip().partition("\n\n    Example:")
    fields = [f"{field.name}: {field.metadata['doc']}" for field in attrs.fields(kind)]
    attributes = "\n        ".join(["\n\n    Attributes:", *fields])
    kind.__doc__ = f"{meaning}{attributes}{example}{rest}\n    "
    return kind


def yaml_name(field: attrs.Attribute[Any]) -> str:
    """The YAML key of a field."""
    return str(field.metadata.get("yaml", field.name))


def note_kind(kind: type) -> str:
    """The kind of the journal's notes that hold values of a class: its name in snake case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
