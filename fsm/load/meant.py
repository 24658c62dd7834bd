"""Guesses the meaning of a wrong key or value from the classes of a flow."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args, get_origin

import attrs

from turnfsm.fsm.expect import Expectation
from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import Confirm, Correction, Fact, Migrates, Scope

from .remedies import as_value
from .schema import yaml_fields
from .written import Button, FlowFile, Hold, NotHeard, WrittenState

__all__ = ["as_entry", "as_field", "belongs", "missing"]


def belongs(key: str, kind: type) -> str:
    """A remedy that shows where the key is known: below the class that has it, or in the flow.

    Returns:
        Such as ``it belongs in 'tuning: {min_words: ...}'``; empty if no place, or no single one,
        is known.
    """
    below, in_flow = _places(kind).get(key), _places(FlowFile).get(key)
    place = below or (in_flow if kind is not FlowFile else None)
    if not place:
        return ""
    *outer, last = place
    text = f"{last}: ..."
    for step in reversed(outer):
        text = f"{step}: {{{text}}}"
    return f"it belongs in '{text}'" if outer else f"it belongs at the top of the flow: '{text}'"


@cache
def _places(root: type) -> Mapping[str, tuple[str, ...]]:
    """A path to each key that a single class has: the shortest one, but one in a state if there is
    any."""
    paths: dict[str, tuple[str, ...]] = {}
    owners: dict[str, set[type]] = {}
    seen: set[type] = set()
    waiting: deque[tuple[type, tuple[str, ...]]] = deque([(root, ())])
    while waiting:
        kind, path = waiting.popleft()
        if kind in seen:
            continue
        seen.add(kind)
        for field, hint in yaml_fields(kind):
            here: tuple[str, ...] = (*path, yaml_name(field))
            if kind is not root or root is FlowFile:
                paths.setdefault(here[-1], here)
                known = owners.setdefault(here[-1], set())
                if not issubclass(kind, tuple(known)):
                    known.add(kind)
            add = waiting.appendleft if here[0] == "states" else waiting.append
            for inner, named in _classes(hint):
                add((inner, (*here, "NAME") if named else here))
    return {key: path for key, path in paths.items() if len(owners[key]) == 1 or len(path) == 1}


def _classes(hint: Any, named: bool = False) -> Iterator[tuple[type, bool]]:
    """The classes in a type, each with whether they stand below a name."""
    if attrs.has(hint):
        yield hint, named
    for inner in get_args(hint):
        yield from _classes(inner, named or get_origin(hint) is Mapping)


def missing(key: str, kind: type) -> str:
    """The remedy for a key that a class must have."""
    if kind is FlowFile and key in ("initial", "states"):
        return f"add '{key}: ...', or extend a flow that has it: 'extends: turn'"
    docs = {yaml_name(f): f.metadata.get("doc", "") for f in attrs.fields(kind)}
    first = re.split("[.;:] ", docs[key])[0].strip(" .")
    return f"add '{key}: ...'" + (f": {first}" if first else "")


def as_entry(kind: Any, value: Any) -> str:
    """How a list of names, or a text, is written as a mapping of names to this class."""
    if kind is Fact and isinstance(value, str):
        return "list the fact below its scope, or below 'host:'"
    named = isinstance(value, list) and value and isinstance(value[0], str) and value[0].strip()
    needed = _needed(kind) if named and attrs.has(kind) else ""
    return f"write {{{value[0]}: {{{needed}}}}}" if needed else ""


def _needed(kind: Any, **given: object) -> str:
    """The keys that a class must have, as they are written."""
    fields = [yaml_name(f) for f in attrs.fields(kind) if f.default is attrs.NOTHING]
    values = dict.fromkeys(fields, "...") | given
    return ", ".join(f"{key}: {value}" for key, value in sorted(values.items()))


def as_field(kind: Any, value: Any) -> str:
    """The field that a single value was probably meant for."""
    if type(value) in (int, float) and "after" in [yaml_name(f) for f in attrs.fields(kind)]:
        return f"write {{{_needed(kind, after=value)}}}"
    if kind is FlowFile:
        return "begin with 'flow: NAME'"
    if value is True and (needed := _needed(kind)):
        return f"write {{{needed}}}"
    if not isinstance(value, str) or not value.strip() or ":" in value:
        return ""
    field = {
        Scope: "begins",
        WrittenState: "is",
        Expectation: "kind",
        Hold: "then",
        NotHeard: "say",
        Button: "press",
        Confirm: "say",
        Correction: "same",
        Migrates: "flow",
    }.get(kind)
    return f"write {{{field}: {as_value(value)}}}" if field else ""
