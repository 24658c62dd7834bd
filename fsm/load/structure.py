"""Converts plain data to the classes of a flow, or says at each place why it cannot."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, did_you_mean, near, quoted
from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import NEVER, Names, Seconds, Texts
from turnfsm.fsm.source import Path, Source
from turnfsm.fsm.tuning import Policy

from .meant import as_entry, as_field, belongs, missing
from .remedies import (
    colon_meant,
    comma_meant,
    key_meant,
    mismatch_remedy,
    moved,
    noun,
    value_meant,
)
from .schema import needs_text, yaml_fields
from .written import AT_LEAST_ONE, ONE_OR_MORE, SHORT

__all__ = ["structure_as"]

T = TypeVar("T")
Read: TypeAlias = Generator[Finding, None, T]
"""Gives a value, and yields every problem on the way. After a problem the value has no meaning."""

_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_WORDS = {"dict": "a mapping", "list": "a list", "NoneType": "nothing", "str": "text"}
_MOST = 200
_POLICIES = (
    "write hold: the turn cannot be interrupted meanwhile; finish: an interruption waits for it; "
    "detach: it continues; cancel: it ends at once"
)


def structure_as(kind: type[T], data: Any, source: Source) -> tuple[T | None, Iterable[Finding]]:
    """A value of an attrs class, or the reasons why the data is not one, at most `_MOST`."""
    findings: list[Finding] = []
    reading: Read[T] = _Reader(source).read(kind, data, ())
    while len(findings) < _MOST:
        try:
            findings.append(next(reading))
        except StopIteration as end:
            return None if findings else end.value, findings
    return None, findings


@cache
def _keys(kind: type) -> Mapping[str, tuple[attrs.Attribute[Any], Any]]:
    """The fields of a class by their keys, each with its type."""
    return {yaml_name(field): (field, hint) for field, hint in yaml_fields(kind)}


@attrs.frozen
class _Reader:
    source: Source

    def read(self, hint: Any, value: Any, path: Path) -> Read[Any]:
        """The value as the type of a field says."""
        if hint in _KINDS:
            return (yield from self._scalar(hint, value, path))
        if hint is Any:
            return value
        if hint is Seconds:
            return (yield from self._seconds(value, path))
        if hint is Texts:
            return (yield from self._texts(value, path))
        if hint == Names:
            return (yield from self._names(value, path))
        if attrs.has(hint):
            return (yield from self._object(hint, value, path))
        origin, args = get_origin(hint), get_args(hint)
        if origin is Literal:
            return (yield from self._literal(args, value, path))
        if origin is Mapping:
            return (yield from self._mapping(args[1], value, path))
        if origin is tuple:
            return (yield from self._items(args[0], value, path))
        (inner,) = (arg for arg in args if arg is not type(None))
        return (yield from self.read(inner, value, path))

    def _mismatch(self, expected: str, value: Any, path: Path, remedy: str = "") -> Read[None]:
        kind = type(value).__name__
        shown = _WORDS.get(kind) or f"the number {quoted(value)[1:-1]}"
        if isinstance(value, bool):
            shown = str(value).lower()
        if isinstance(value, str):
            shown = f"text {quoted(value)}"
        if value in ([], {}):
            shown = f"an empty {'list' if value == [] else 'mapping'}"
        remedy = remedy or mismatch_remedy(expected, value)
        yield self.source.at(path, f"expected {expected}, got {shown}", remedy, code="type")

    def _scalar(self, kind: type, value: Any, path: Path) -> Read[Any]:
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            yield from self._mismatch(_KINDS[kind], value, path)
        elif isinstance(value, float) and not math.isfinite(value):
            remedy = "write the seconds as digits, such as 0.5"
            yield from self._mismatch("a finite number", value, path, remedy)
        return value

    def _seconds(self, value: Any, path: Path) -> Read[Seconds]:
        if value == "never":
            return NEVER
        if isinstance(value, str) and closest(value, ("never",)):
            yield from self._mismatch("a number", value, path, "did you mean 'never'?")
            return NEVER
        return Seconds((yield from self._scalar(float, value, path)))

    def _text(self, value: Any, path: Path, remedy: str = "") -> Read[str]:
        """A text that is not empty."""
        if not isinstance(value, str) or not value.strip():
            yield from self._mismatch("text", value, path, remedy)
        return str(value)

    def _names(self, value: Any, path: Path) -> Read[Names]:
        if isinstance(value, str):
            return ((yield from self._text(value, path)),)
        if not isinstance(value, list):
            yield from self._mismatch("a name or a list of names", value, path)
            return ()
        for index, name in enumerate(value):
            here = (*path, index)
            yield from self._text(name, here)
            if name in value[:index]:
                message = f"{quoted(name)} is named twice"
                yield self.source.at(here, message, "keep one of them", code="repeated")
        return tuple(value)

    def _texts(self, value: Any, path: Path) -> Read[Texts]:
        if isinstance(value, dict) or value == []:
            yield from self._mismatch("a text or a list of texts", value, path)
            return Texts(())
        several = isinstance(value, list)
        texts = value if several else [value]
        for index, text in enumerate(texts):
            here = (*path, index) if several else path
            remedy = "write what the agent says" if isinstance(text, str) else ""
            yield from self._text(text, here, remedy)
        return Texts(tuple(texts))

    def _literal(self, values: tuple[Any, ...], value: Any, path: Path) -> Read[Any]:
        if value in values:
            return value
        meant = closest(value, values) if isinstance(value, str) else None
        if not meant and isinstance(value, str) and value_meant(value) in values:
            meant = value_meant(value)
        remedy = did_you_mean(value, meant) if meant else "write one of them"
        if len(values) == 1:
            remedy = f"write {values[0]!r}"
        elif not meant and values == get_args(Policy):
            remedy = _POLICIES
        yield from self._mismatch(" or ".join(map(repr, values)), value, path, remedy)
        return None

    def _mapping(self, inner: Any, value: Any, path: Path) -> Read[Mapping[str, Any]]:
        if not isinstance(value, dict):
            yield from self._mismatch("a mapping", value, path, as_entry(inner, value))
            return {}
        read = {}
        for key, item in value.items():
            filled = {} if item is None and attrs.has(inner) else item
            read[key] = yield from self.read(inner, filled, (*path, key))
        return read

    def _items(self, inner: Any, value: Any, path: Path) -> Read[tuple[Any, ...]]:
        several = inner in ONE_OR_MORE
        if several and isinstance(value, dict):
            return ((yield from self.read(inner, value, path)),)
        if not isinstance(value, list) or (several and not value):
            one = inner.__name__.lower()
            expected = f"a {one} or a list of {one}s" if several else "a list"
            remedy = as_field(inner, value) if several else ""
            yield from self._mismatch(expected, value, path, remedy)
            return ()
        read = []
        for index, item in enumerate(value):
            read.append((yield from self.read(inner, item, (*path, index))))
        return tuple(read)

    def _object(self, kind: Any, value: Any, path: Path) -> Read[Any]:
        if kind in SHORT and isinstance(value, str):
            value = {"is": value}
        if not isinstance(value, dict):
            expected = f"a {kind.__name__.lower()}" if kind in ONE_OR_MORE else "a mapping"
            yield from self._mismatch(expected, value, path, as_field(kind, value))
            return None
        keys, whole = _keys(kind), True
        given: dict[str, Any] = {}
        unknown = {key: _meant(key, kind) for key in sorted(value.keys() - keys.keys())}
        for key, meant in unknown.items():
            yield self._unknown(key, meant, kind, path)
        for key, (field, hint) in keys.items():
            optional = field.default is not attrs.NOTHING
            # An optional key without a value counts as missing: commenting out lines leaves such
            # keys.
            if value.get(key) is not None or (key in value and not optional):
                read = self._field(field, hint, value[key], (*path, key))
                given[field.alias or field.name] = yield from read
            elif not optional:
                whole = False
                # A key that is only misspelt, or that the base has, is one mistake, not two.
                if not {key, "extends"} & {*unknown.values()}:
                    message, remedy = f"missing key {quoted(key)}", missing(key, kind)
                    yield self.source.at_key(path, message, remedy, code="missing-key")
        needed = AT_LEAST_ONE.get(kind, ())
        if needed and all(value.get(key) in (None, []) for key in needed):
            whole = False
            if not {*needed} & {*unknown.values()}:
                message = f"missing key {' or '.join(map(quoted, needed))}"
                remedy = "add " + " or ".join(f"'{key}: ...'" for key in needed)
                yield self.source.at_key(path, message, remedy, code="missing-key")
        return kind(**given) if whole else None

    def _field(self, field: attrs.Attribute[Any], hint: Any, value: Any, path: Path) -> Read[Any]:
        if field.metadata.get("amount"):
            return (yield from self._amount(hint, value, path))
        if needs_text(field, hint):
            return (yield from self._text(value, path))
        if hint == Names and value == [] and field.default:
            yield from self._mismatch("a name or a list of names", value, path)
        return (yield from self.read(hint, value, path))

    def _amount(self, hint: Any, value: Any, path: Path) -> Read[Any]:
        if type(value) in (int, float):
            return (yield from self.read(hint, value, path))
        yield from self._mismatch("a number", value, path, "write it as digits, such as 100")

    def _unknown(self, key: str, meant: str | None, kind: type, path: Path) -> Finding:
        message = f"unknown key {quoted(key)} in {noun(kind)}"
        remedy = did_you_mean(key, meant) if meant else colon_meant(key) or belongs(key, kind)
        remedy = moved(kind.__name__, key) or remedy or near(key, _keys(kind))
        finding = self.source.at_key((*path, key), message, remedy, code="unknown-key")
        if not meant and (text := comma_meant(finding)):
            return attrs.evolve(finding, remedy=text)
        return finding


def _meant(key: str, kind: type) -> str | None:
    return key_meant(kind.__name__, key) or closest(key, _keys(kind))
