"""A flow as plain data, under the keys that the YAML has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import NEVER, Flow
from turnfsm.fsm.load.written import HOST

__all__ = ["flow_tree"]


def flow_tree(flow: Flow) -> dict[str, Any]:
    """The flow as JSON and YAML can hold it; read as YAML it loads to an equal flow.

    What stands at its default is left out. Each state has all its transitions: there are no groups.
    """
    facts: dict[str, dict[str, Any]] = {}
    for name, fact in flow.facts.items():
        scope = HOST if fact.host else fact.scope or "session"
        facts.setdefault(scope, {})[name] = _plain(fact)
    triggers = {kind: _of_kind(flow, kind) for kind in ("request", "event")}
    held = flow.properties
    properties = {
        kind: {item.name: _plain(item) for item in items}
        for kind, items in (
            ("never", held.never),
            ("always", held.always),
            ("leads_to", held.leads_to),
        )
    }
    tree = {
        "flow": flow.name,
        "kind": flow.kind,
        "is": flow.is_,
        "turn_detection": flow.turn_detection,
        "discard_audio_if_uninterruptible": flow.discard_audio_if_uninterruptible,
        "initial": flow.initial,
        "scopes": _plain(flow.scopes),
        "facts": facts,
        "requests": triggers["request"],
        "events": triggers["event"],
        "timers": _seconds(flow.timers),
        "lasting": list(flow.lasting),
        "limits": flow.limits,
        "limit_sets": {name: _seconds(one) for name, one in flow.limit_sets.items()},
        "actions": _plain(flow.actions),
        "tools": _plain(flow.tools),
        "agenda": _plain(flow.agenda),
        "phrases": _plain(flow.phrases),
        "states": _plain(flow.states),
        "migrates": _plain(flow.migrates),
        "properties": _said({**properties, "waived": _plain(held.waived)}),
    }
    kept = ("flow", "initial", "states", "discard_audio_if_uninterruptible")
    if flow.kind == "other":
        del tree["kind"]
    if flow.discard_audio_if_uninterruptible:
        del tree["discard_audio_if_uninterruptible"]
    return {key: value for key, value in tree.items() if value or key in kept}


def _of_kind(flow: Flow, kind: str) -> dict[str, Any]:
    return {name: _plain(body) for name, body in flow.triggers.items() if body.kind == kind}


def _seconds(timers: Mapping[str, float]) -> dict[str, Any]:
    return {name: "never" if one == NEVER else one for name, one in timers.items()}


def _said(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if value}


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
