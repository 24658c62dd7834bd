"""The reference of every key of a flow, in Markdown, from the classes that a flow is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import attrs

from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import Always, LeadsTo, Names, Never, Seconds, Texts

from .remedies import noun
from .schema import yaml_fields
from .written import ONE_OR_MORE, SHORT, FlowFile

__all__ = ["MARKS", "reference", "with_reference"]

MARKS = ("<!-- turnfsm schema writes from here -->", "<!-- to here -->")
"""The markers around the generated part of a document."""

_PLAIN = {
    Seconds: "seconds, or `never`",
    Texts: "a text or a list of texts",
    str: "text",
    bool: "`true` or `false`",
    int: "a whole number",
    float: "seconds",
}


def reference() -> str:
    classes = dict.fromkeys([FlowFile, *_within(FlowFile)])
    return "\n".join(map(_table, classes))


def with_reference(document: str) -> str | None:
    """The document with its generated part updated; None if it has no such part."""
    before, mark, rest = document.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not mark or not end:
        return None
    return f"{before}{MARKS[0]}\n\n{reference()}\n{MARKS[1]}{after}"


def _within(kind: type) -> Iterator[type]:
    """The classes used in a class, each before those that it uses itself."""
    for _, hint in yaml_fields(kind):
        for inner in (hint, *get_args(hint), *(a for h in get_args(hint) for a in get_args(h))):
            if attrs.has(inner):
                yield inner
                yield from _within(inner)


def _table(kind: type) -> str:
    name = noun(kind).replace("'", "`")
    title = name[0].upper() + name[1:]
    lines = [f"### {title}", "", "| key | value | meaning |", "| --- | --- | --- |"]
    for field, hint in yaml_fields(kind):
        needed = " (required)" if field.default is attrs.NOTHING else ""
        key, meaning = yaml_name(field), field.metadata["doc"]
        value = "a number" if field.metadata["amount"] else _value(hint)
        lines.append(f"| `{key}` | {value}{needed} | {meaning} |")
    return "\n".join(lines) + "\n"


def _value(hint: Any) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint == Names:
        return "a name or a list of names"
    if attrs.has(hint):
        return _noun(hint) + (", or a text: what it means" if hint in SHORT else "")
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in args)
    if origin is Mapping:
        nested = get_origin(args[1]) is Mapping
        outer = "scope" if nested and attrs.has(get_args(args[1])[1]) else "name"
        return f"{outer}: {_value(args[1])}"
    if origin is tuple:
        noun = _noun(args[0])
        return f"a {noun} or a list of them" if args[0] in ONE_OR_MORE else f"a list of {noun}s"
    return _value(next(arg for arg in args if arg is not type(None)))


def _noun(kind: type) -> str:
    if kind in (Never, Always, LeadsTo):
        return "property"
    return kind.__name__.removeprefix("Written").lower()
