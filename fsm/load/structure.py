"""Converts plain data to the classes of a flow. cattrs collects every error with its path."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import (
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.gen import make_dict_structure_fn, override

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, near, quoted
from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import NEVER, Names, Seconds, Texts
from turnfsm.fsm.flow_parts import Policy
from turnfsm.fsm.source import Path, Source

from .meant import as_entry, as_field, belongs, missing
from .remedies import MOVED, key_meant, mismatch_remedy, value_meant
from .written import ONE_OR_MORE, SHORT

__all__ = ["structure_as"]

T = TypeVar("T")

_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_NOUNS = {
    "Action": "an action",
    "FlowFile": "a flow",
    "WrittenState": "a state",
    "WrittenProperties": "the properties",
    "LeadsTo": "a 'leads_to' property",
    "Never": "a 'never' property",
    "Always": "an 'always' property",
    "Phrases": "the phrases",
    "Tools": "the tools",
    "Rules": "the agenda",
    "Tuning": "the tuning",
    "Expectation": "the expectation",
    "Monologue": "the monologue",
    "Hold": "the hold",
    "NotHeard": "the key 'not_heard'",
    "Confirm": "the confirmation",
    "Correction": "the correction",
    "Condition": "the condition",
    "Migrates": "the key 'migrates'",
    "Assurance": "'never_silent'",
    "Button": "the button",
    "Backchannels": "the backchannels",
}
_WORDS = {"dict": "a mapping", "list": "a list", "NoneType": "nothing", "str": "text"}


class _Mismatch(Exception):
    """A value of the wrong kind; message and remedy are ready to print."""

    def __init__(self, expected: str, value: Any, remedy: str = "") -> None:
        kind = type(value).__name__
        shown = _WORDS.get(kind) or f"the number {quoted(value)[1:-1]}"
        if isinstance(value, bool):
            shown = str(value).lower()
        if isinstance(value, str):
            shown = f"text {quoted(value)}"
        if value in ([], {}):
            shown = f"an empty {'list' if value == [] else 'mapping'}"
        super().__init__(f"expected {expected}, got {shown}")
        self.remedy = remedy or mismatch_remedy(expected, value)


def _scalar(kind: type) -> Callable[[Any, Any], Any]:
    def hook(value: Any, _: Any) -> Any:
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise _Mismatch(_KINDS[kind], value)
        if isinstance(value, float) and not math.isfinite(value):
            raise _Mismatch("a finite number", value, "write the seconds as digits, such as 0.5")
        return value

    return hook


def _seconds(value: Any, _: Any) -> Seconds:
    if value == "never":
        return NEVER
    return Seconds(_converter.structure(value, float))


def _amount(value: Any, _: Any) -> float | None:
    if value is not None and type(value) not in (int, float):
        raise _Mismatch("a number", value, "write it as digits, such as 100")
    return None if value is None else float(_converter.structure(value, float))


def _names(value: Any, _: Any) -> Names:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(_converter.structure(value, list[str]))
    raise _Mismatch("a name or a list of names", value)


def _texts(value: Any, _: Any) -> Texts:
    texts = value if isinstance(value, list) else [value]
    if isinstance(value, dict) or not texts:
        raise _Mismatch("a text or a list of texts", value)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise _Mismatch("text", text, "write what the agent says" if text == "" else "")
    return Texts(tuple(texts))


def _one_or_more(kind: Any) -> Callable[[Any, Any], Any]:
    inner = get_args(kind)[0]
    noun = inner.__name__.lower()

    def hook(value: Any, _: Any) -> Any:
        if isinstance(value, dict):
            return (_converter.structure(value, inner),)
        if isinstance(value, list) and value:
            return tuple(_converter.structure(value, list[inner]))  # type: ignore[valid-type]
        raise _Mismatch(f"a {noun} or a list of {noun}s", value, as_field(inner, value))

    return hook


def _literal(value: Any, kind: Any) -> Any:
    values = get_args(kind)
    if value not in values:
        meant = closest(value, values) if isinstance(value, str) else None
        if not meant and isinstance(value, str) and value_meant(value) in values:
            meant = value_meant(value)
        meant = f"did you mean {meant!r}?" if meant else ""
        if len(values) == 1:
            meant = f"write {values[0]!r}"
        elif not meant and values == get_args(Policy):
            meant = (
                "write hold: the turn cannot be interrupted meanwhile; finish: an interruption "
                "waits for it; detach: it continues; cancel: it ends at once"
            )
        raise _Mismatch(" or ".join(map(repr, values)), value, meant)
    return value


def _mapping_factory(kind: Any) -> Callable[[Any, Any], Any]:
    inner = get_args(kind)[1]
    fill: dict[str, Any] | None = {} if attrs.has(inner) else None

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch("a mapping", value, as_entry(inner, value))
        filled = {k: (fill if v is None and fill is not None else v) for k, v in value.items()}
        return _converter.structure(filled, dict[str, inner])  # type: ignore[valid-type]

    return hook


def _class_factory(kind: Any) -> Callable[[Any, Any], Any]:
    fields = attrs.fields(kind)
    renames: dict[str, Any] = {
        f.name: override(
            rename=yaml_name(f),
            omit=bool(f.metadata.get("internal")),
            struct_hook=_amount if f.metadata.get("amount") else None,
        )
        for f in fields
    }
    inner = make_dict_structure_fn(kind, _converter, True, **renames)  # True: no unknown keys
    expected = f"a {kind.__name__.lower()}" if kind in ONE_OR_MORE else "a mapping"
    optional = {yaml_name(f) for f in fields if f.default is not attrs.NOTHING}

    def hook(value: Any, cl: Any) -> Any:
        if kind in SHORT and isinstance(value, str):
            value = {"is": value}
        if not isinstance(value, dict):
            raise _Mismatch(expected, value, as_field(kind, value))
        # An optional key without a value counts as missing: commenting out lines leaves such keys.
        given = {k: v for k, v in value.items() if v is not None or k not in optional}
        return inner(given, cl)

    return hook


def _list_factory(kind: Any) -> Callable[[Any, Any], Any]:
    inner = get_args(kind)[0]

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list):
            raise _Mismatch("a list", value)
        return tuple(_converter.structure(value, list[inner]))  # type: ignore[valid-type]

    return hook


def _originates(origin: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _is_tuple_of_classes(kind: Any) -> bool:
    return get_origin(kind) is tuple and attrs.has(get_args(kind)[0])


def _is_one_or_more(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[0] in ONE_OR_MORE


_converter = cattrs.Converter(detailed_validation=True)
for _kind in _KINDS:
    _converter.register_structure_hook(_kind, _scalar(_kind))
_converter.register_structure_hook_factory(attrs.has, _class_factory)
_converter.register_structure_hook_func(_originates(Literal), _literal)
_converter.register_structure_hook_factory(_is_tuple_of_classes, _list_factory)
_converter.register_structure_hook_factory(_originates(Mapping), _mapping_factory)
_converter.register_structure_hook_func(lambda t: t is Seconds, _seconds)
_converter.register_structure_hook_func(lambda t: t is Texts, _texts)
_converter.register_structure_hook_func(lambda t: t == Names, _names)
_converter.register_structure_hook_factory(_is_one_or_more, _one_or_more)


def structure_as(kind: type[T], data: Any, source: Source) -> tuple[T | None, Iterable[Finding]]:
    """A value of an attrs class, or every reason why the data is not one."""
    try:
        return _converter.structure(data, kind), []
    except (ClassValidationError, IterableValidationError, _Mismatch) as exc:
        return None, _explain(exc, source, ())


def _explain(exc: BaseException, source: Source, path: Path) -> Iterator[Finding]:
    if isinstance(exc, ClassValidationError):
        yield from _explain_class(exc, source, path)
    elif isinstance(exc, IterableValidationError):
        for sub in exc.exceptions:
            yield from _explain(sub, source, (*path, *_step(sub, exc)))
    else:
        remedy = getattr(exc, "remedy", "")
        yield source.at(path, str(exc), remedy, code="type")


def _explain_class(exc: ClassValidationError, source: Source, path: Path) -> Iterator[Finding]:
    extra = [key for sub in exc.exceptions for key in sorted(getattr(sub, "extra_fields", ()))]
    meant = {key: _meant(key, exc.cl) for key in extra}
    for key in extra:
        noun = _NOUNS.get(exc.cl.__name__, f"a {exc.cl.__name__.lower()}")
        message = f"unknown key {quoted(key)} in {noun}"
        word = meant[key]
        remedy = f"did you mean {word!r}?" if word else _keyless(key) or belongs(key, exc.cl)
        remedy = remedy or near(key, _known(exc.cl))
        remedy = MOVED.get((exc.cl.__name__, key), remedy)
        finding = source.at_key((*path, key), message, remedy, code="unknown-key")
        if not word and (text := _with_comma(finding)):
            finding = attrs.evolve(finding, remedy=text)
        yield finding
    for sub in exc.exceptions:
        # A missing key that is only misspelt, or that the base has, is one mistake, not two.
        misspelt = isinstance(sub, KeyError) and {sub.args[0], "extends"} & set(meant.values())
        if isinstance(sub, KeyError) and not misspelt:
            key = sub.args[0]
            message, remedy = f"missing key {quoted(key)}", missing(key, exc.cl)
            yield source.at_key(path, message, remedy, code="missing-key")
        elif not misspelt and not isinstance(sub, ForbiddenExtraKeysError):
            yield from _explain(sub, source, (*path, *_step(sub, exc)))


def _with_comma(finding: Finding) -> str:
    """The remedy if the key is the rest of a text with a comma, as in `{say: Well, hello}`."""
    at = finding.column - 1
    before, rest = finding.text[:at], finding.text[at:]
    found = re.search(r"(\w+): ([^\s,{}\[\]\"'][^,{}\[\]\"']*,\s*)$", before)
    more = re.match(r"[^:,{}\[\]]*(?=[,}])", rest)
    if found is None or more is None:
        return ""
    return f'a text with a comma needs quotes: {found[1]}: "{found[2]}{more[0].strip()}"'


def _known(kind: type) -> list[str]:
    return [yaml_name(f) for f in attrs.fields(kind) if not f.metadata.get("internal")]


def _meant(key: str, kind: type) -> str | None:
    return key_meant(kind.__name__, key) or closest(key, _known(kind))


def _keyless(key: str) -> str:
    name, colon, rest = key.partition(":")
    return f"put a space after the colon: '{name}: {rest}'" if colon and len(key) < 60 else ""


def _step(exc: BaseException, group: BaseException) -> Path:
    """The path step in cattrs' note: the attribute (by its YAML name), the key or the index."""
    for note in getattr(exc, "__notes__", ()):
        if hasattr(note, "name"):
            return (_yaml_word(group, note.name),)
        if hasattr(note, "index"):
            return (note.index,)
    return ()


def _yaml_word(group: BaseException, name: str) -> str:
    if isinstance(group, ClassValidationError) and attrs.has(group.cl):
        return next((yaml_name(f) for f in attrs.fields(group.cl) if f.name == name), name)
    return name
