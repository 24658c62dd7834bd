"""A flow as plain data, under the words that the YAML has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from turnfsm.fsm.flow import Flow, yaml_name

__all__ = ["flow_tree"]


def flow_tree(flow: Flow) -> dict[str, Any]:
    """The flow as JSON and YAML can hold it; read as YAML it loads to an equal flow.

    What stands at its default is left out.
    """
    tree: dict[str, Any] = _plain(flow)
    return tree


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        fields = [f for f in attrs.fields(type(value)) if not f.metadata.get("internal")]
        pairs = ((f, getattr(value, f.name)) for f in fields)
        return {yaml_name(f): _plain(v) for f, v in pairs if v != _default(f)}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value


def _default(field: attrs.Attribute[Any]) -> Any:
    default: Any = field.default
    return default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]
