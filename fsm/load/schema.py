"""Generates the JSON Schema for editors from the classes of a flow.

The loader rejects everything that the schema rejects, and also checks names. In a flow that extends
another one, a key may be null, which removes the base's value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs

from turnfsm.fsm.confirm import Condition, Confirm
from turnfsm.fsm.correction import Correction
from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import Names, Phrases, Seconds, Texts, Tuning
from turnfsm.fsm.tuning import Policy

from .written import AT_LEAST_ONE, ONE_OR_MORE, SHORT, WHOLE, FlowFile

__all__ = ["flow_schema", "needs_text", "schema_text", "yaml_fields"]

_PLAIN = {str: "string", float: "number", int: "integer", bool: "boolean"}
_NULL = {"type": "null"}
_SECONDS = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 86_400}
_TEXT = {"type": "string", "pattern": r"\S"}
_WORD = {"pattern": r"^[^\s.:,]+$"}
_NAMED_ELSEWHERE = (Policy, Tuning, Confirm, Correction, Condition)
"""What a flow says about tools, their arguments and agents, whose names are the application's."""
_DIALECT = "http://json-schema.org/draft-07/schema#"


def schema_text() -> str:
    return json.dumps(flow_schema(), indent=2) + "\n"


def flow_schema() -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    root = _object(FlowFile, definitions)
    root["required"] = ["flow"]
    # A flow that extends another one inherits the rest.
    root["if"] = {"required": ["extends"]}
    root["else"] = {"required": ["flow", "initial", "states"]}
    # A flow that extends a file may leave out what that file has; no shipped flow has these keys.
    file = {"required": ["extends"], "properties": {"extends": {"pattern": r"\.ya?ml$"}}}
    root["allOf"] = [{"if": file, "else": _needed(FlowFile)}]
    head = {"$schema": _DIALECT, "title": "turnfsm flow"}
    return {**head, **root, "definitions": dict(sorted(definitions.items()))}


def yaml_fields(kind: type) -> list[tuple[attrs.Attribute[Any], Any]]:
    """The fields of a class that may be written in YAML, each with its type: first those that must
    be there."""
    hints = get_type_hints(kind)
    fields = sorted(attrs.fields(kind), key=lambda field: field.default is not attrs.NOTHING)
    return [(field, hints[field.name]) for field in fields if not field.metadata.get("internal")]


def needs_text(field: attrs.Attribute[Any], hint: Any) -> bool:
    """Whether a field is a text that must not be empty: all but descriptions, which may be."""
    return hint in (str, str | None) and field.default != ""


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    properties = {}
    for field, hint in yaml_fields(kind):
        key = yaml_name(field)
        needed = field.default is attrs.NOTHING
        if needs_text(field, hint):
            value = _TEXT
        elif hint == Names:
            value = _names(least=1 if field.default else 0)
        else:
            value = _value(hint, definitions)
        properties[key] = {"description": field.metadata["doc"], **_nullable(value, needed)}
    out: dict[str, Any] = {"type": "object", "description": (kind.__doc__ or "").partition("\n")[0]}
    out |= {"properties": properties, "additionalProperties": False}
    return out | (_keys_of(kind) if kind in WHOLE else {})


def _keys_of(kind: type) -> dict[str, Any]:
    """The keys that an object of a class must have."""
    fields = yaml_fields(kind)
    needed = [yaml_name(field) for field, _ in fields if field.default is attrs.NOTHING]
    some = [_with(key) for key in AT_LEAST_ONE.get(kind, ())]
    return ({"required": needed} if needed else {}) | ({"anyOf": some} if some else {})


def _needed(hint: Any) -> dict[str, Any]:
    """The keys that the objects in a value must have, where a flow is not merged with another."""
    if attrs.has(hint):
        inside = {yaml_name(field): _needed(inner) for field, inner in yaml_fields(hint)}
        properties = {key: needed for key, needed in inside.items() if needed}
        own = {} if hint in (FlowFile, Phrases, *WHOLE) else _keys_of(hint)
        return own | ({"properties": properties} if properties else {})
    if get_origin(hint) is Mapping:
        needed = _needed(get_args(hint)[1])
        return {"additionalProperties": needed} if needed else {}
    inside = next((_needed(inner) for inner in get_args(hint) if attrs.has(inner)), {})
    return {**inside, "items": inside} if inside and get_origin(hint) is tuple else inside


def _with(key: str) -> dict[str, Any]:
    """An object with this key. Neither null, which removes a key, nor an empty list counts."""
    return {"required": [key], "properties": {key: {"not": {"enum": [None, []]}}}}


def _nullable(value: dict[str, Any], needed: bool) -> dict[str, Any]:
    if needed:
        return value
    if isinstance(value.get("type"), str):
        return {**value, "type": [value["type"], "null"]}
    if "enum" in value:
        return {"enum": [*value["enum"], None]}
    options = value.get("anyOf", [value])
    return {"anyOf": options if _NULL in options else [*options, _NULL]}


def _value(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is Seconds:
        return {"anyOf": [_SECONDS, {"enum": ["never"]}]}
    if hint is Texts:
        return {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
    if attrs.has(hint):
        body = _reference(hint, definitions)
        return {"anyOf": [{"type": "string"}, body]} if hint in SHORT else body
    if hint == Names:
        return _names()
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(args)}
    if origin is Mapping or origin is dict:
        return _mapping(args[1], definitions)
    if origin is tuple:
        return _alternatives(args[0], definitions)
    (inner,) = (arg for arg in args if arg is not type(None))
    return _value(inner, definitions)


def _names(least: int = 0) -> dict[str, Any]:
    many = {"type": "array", "items": _TEXT, "uniqueItems": True}
    return {"anyOf": [_TEXT, many | ({"minItems": least} if least else {})]}


def _reference(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # first, in case a class contains itself
        definitions[kind.__name__] = _object(kind, definitions)
    return {"$ref": f"#/definitions/{kind.__name__}"}


def _mapping(inner: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    value = _value(inner, definitions)
    out = {"type": "object", "additionalProperties": _nullable(value, needed=False)}
    if inner is str:
        return out
    word = {"minLength": 1} if inner in _NAMED_ELSEWHERE else _WORD
    return out | {"propertyNames": word}


def _alternatives(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    many = {"type": "array", "items": _reference(kind, definitions)}
    if kind in ONE_OR_MORE:
        return {"anyOf": [_reference(kind, definitions), {**many, "minItems": 1}]}
    return many
