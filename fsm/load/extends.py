"""Merges a flow into the flow that it extends, by name.

Mappings merge key by key; everything else replaces what the base has. What a trigger does in a
state or a group, and a property, are replaced as a whole. A trigger is in `on`, `refuses` or
`ignores` of a state: giving it in one removes it from the others. ``null`` removes, and properties
of the base that are then empty are removed, too.
"""

from __future__ import annotations

from typing import Any

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, did_you_mean, quoted
from turnfsm.fsm.source import Location, Node, Path

from .remedies import colon_meant, comma_meant

__all__ = ["Merge"]

_OWN = ("flow", "is", "extends")
"""Keys that describe one file, and are not inherited."""

_PROPERTIES = ("never", "always", "leads_to")
_REFUSALS = ("refuses", "ignores")
_SHORT = ("requests", "events", "actions")


class Merge:
    """One flow merged over its base.

    Attributes:
        findings: The problems.
        removed: The names that the flow removes, and where.
        removed_to: The states to which the flow removes a transition, and where.
        added: The states that the base does not have.
    """

    def __init__(self, base_name: str) -> None:
        self.base_name = base_name
        self.findings: list[Finding] = []
        self.removed: dict[Path, Location] = {}
        self.removed_to: dict[str, Location] = {}
        self.added: set[str] = set()

    def merge(self, base: Node, flow: Node) -> Node:
        inherited = _marked(base)
        value = {name: node for name, node in inherited.value.items() if name not in _OWN}
        merged = self._mapping(Node(value, inherited.mark, inherited.key, True), flow, ())
        self._drop_empty(merged.value.get("properties"))
        merged.value = {n: merged.value[n] for n in (*_OWN, *merged.value) if n in merged.value}
        return merged

    def _mapping(self, base: Node, flow: Node, path: Path) -> Node:
        out = dict(base.value)
        if _is_body(path):
            self._move(out, flow.value, path)
        for name, node in flow.value.items():
            here = (*path, name)
            if node.value is None:
                self._remove(out, name, node, here)
            elif name in out:
                out[name] = self._both(out[name], node, here)
            else:
                out[name] = node
                self.added |= {name} if path == ("states",) else set()
        return Node(out, flow.mark, flow.key)

    def _both(self, base: Node, flow: Node, path: Path) -> Node:
        if _is_short(path):
            base, flow = _spelt_out(base), _spelt_out(flow)
        mappings = isinstance(base.value, dict) and isinstance(flow.value, dict)
        if mappings and not _is_transition(path) and not _is_property(path):
            merged = self._mapping(base, flow, path)
            return self._waive(merged) if path == ("properties",) else merged
        if _is_body(path[:-1]) and path[-1] in _REFUSALS:
            return _joined(base, flow)
        if _is_transition(path):
            self._record_removed_to(base, flow.key)
        return flow

    def _remove(self, out: dict[str, Node], name: str, node: Node, path: Path) -> None:
        if name in out:
            self._take(out.pop(name), node.key, path)
            return
        meant = closest(name, out)
        remedy = "remove this, or write '{}' to declare it"
        remedy = did_you_mean(name, meant) if meant else remedy
        message = f"there is no {quoted(name)} to remove in {quoted(self.base_name)}"
        finding = node.key.finding(message, remedy, code="nothing-to-remove")
        split = colon_meant(name) or comma_meant(finding)
        self.findings.append(attrs.evolve(finding, remedy=split) if split else finding)

    def _take(self, gone: Node, where: Location, path: Path) -> None:
        self.removed[path] = where
        if len(path) == 2 and path[0] in ("requests", "events"):
            self.removed["triggers", path[1]] = where
        if len(path) == 3 and path[0] == "facts":
            self.removed["facts", path[2]] = where
        if _is_transition(path):
            self._record_removed_to(gone, where)
        if isinstance(gone.value, dict) and len(path) < (3 if path[0] == "facts" else 2):
            for name, part in gone.value.items():
                self._take(part, where, (*path, name))

    def _record_removed_to(self, transitions: Node, where: Location) -> None:
        nodes = transitions.value if isinstance(transitions.value, list) else [transitions]
        for dest in filter(None, (_field(node, "dest") for node in nodes)):
            self.removed_to[dest] = where

    def _move(self, state: dict[str, Node], change: dict[str, Node], path: Path) -> None:
        """Keep each trigger in only one of `on`, `refuses` and `ignores`: the one where the change
        puts it."""
        changed = {key: change.get(key) for key in _REFUSALS}
        given = {key: {n.value: n.mark for n in _names(node)} for key, node in changed.items()}
        refused = {name: mark for marks in given.values() for name, mark in marks.items()}
        taken = _keys(change.get("on")) - set(refused)
        if "on" in state and isinstance(state["on"].value, dict):
            on = state["on"]
            remaining = dict(on.value)
            for name in refused.keys() & remaining.keys():
                self._take(remaining.pop(name), refused[name], (*path, "on", name))
            state["on"] = Node(remaining, on.mark, on.key, on.base)
        for key in _REFUSALS:
            if names := _names(state.get(key)):
                gone = taken | (refused.keys() - given[key].keys())
                kept = [node for node in names if node.value not in gone]
                state[key] = Node(kept, state[key].mark, state[key].key, state[key].base)

    def _waive(self, properties: Node) -> Node:
        """Remove inherited properties that the flow waives."""
        waived = _keys(properties.value.get("waived"))
        for kind, items in _kinds(properties):
            gone = {name for name, node in items.value.items() if node.base and name in waived}
            for name in gone:
                where = properties.value["waived"].value[name].key
                self.removed["properties", "waived", name] = where
            _drop(properties, kind, gone)
        return properties

    def _drop_empty(self, properties: Node | None) -> None:
        """Remove inherited properties about removed names, as nothing can break them."""
        if properties is not None and isinstance(properties.value, dict):
            for kind, items in _kinds(properties):
                inherited = {name: node for name, node in items.value.items() if node.base}
                gone = {name for name, node in inherited.items() if self._empty(kind, node)}
                _drop(properties, kind, gone)

    def _empty(self, kind: str, item: Node) -> bool:
        about: list[tuple[str, str | None]]
        about = [("states", _field(item, "from" if kind == "leads_to" else "state"))]
        if kind == "never":
            about.append(("actions", _field(item, "action")))
            when = item.value.get("when") if isinstance(item.value, dict) else None
            about += [("facts", node.value) for node in _names(when)]
        return any(path in self.removed for path in about)


def _is_body(path: Path) -> bool:
    return len(path) == 2 and path[0] in ("states", "groups")


def _is_transition(path: Path) -> bool:
    return len(path) == 4 and path[0] in ("states", "groups") and path[2] in ("on", "after")


def _is_property(path: Path) -> bool:
    return len(path) == 3 and path[0] == "properties" and path[1] in _PROPERTIES


def _is_short(path: Path) -> bool:
    """Whether a text alone may give the description here."""
    return (len(path) == 2 and path[0] in _SHORT) or (len(path) == 3 and path[0] == "facts")


def _spelt_out(node: Node) -> Node:
    if not isinstance(node.value, str):
        return node
    return Node({"is": Node(node.value, node.mark, node.key, node.base)}, node.mark, node.key)


def _marked(node: Node) -> Node:
    """A copy in which every node is inherited."""
    value: Any = node.value
    if isinstance(value, dict):
        value = {name: _marked(child) for name, child in value.items()}
    elif isinstance(value, list):
        value = [_marked(child) for child in value]
    return Node(value, node.mark, node.key, True)


def _names(node: Node | None) -> list[Node]:
    """The nodes of one name or of a list of names."""
    if node is None:
        return []
    if isinstance(node.value, str):
        return [node]
    nodes = node.value if isinstance(node.value, list) else []
    return [child for child in nodes if isinstance(child.value, str)]


def _keys(node: Node | None) -> set[str]:
    """The keys that a mapping sets, not those that it removes."""
    if node is None or not isinstance(node.value, dict):
        return set()
    return {name for name, child in node.value.items() if child.value is not None}


def _field(node: Node, key: str) -> str | None:
    """The text under a key, if there is one."""
    child = node.value.get(key) if isinstance(node.value, dict) else None
    return child.value if child is not None and isinstance(child.value, str) else None


def _kinds(properties: Node) -> list[tuple[str, Node]]:
    """The properties of each kind, by name."""
    nodes = [(kind, properties.value.get(kind)) for kind in _PROPERTIES]
    return [(kind, node) for kind, node in nodes if node and isinstance(node.value, dict)]


def _drop(properties: Node, kind: str, gone: set[str]) -> None:
    items = properties.value[kind]
    remaining = {name: node for name, node in items.value.items() if name not in gone}
    properties.value[kind] = Node(remaining, items.mark, items.key, items.base)


def _joined(base: Node, flow: Node) -> Node:
    """The names of both, each once. A wrong value stays, so that it is reported."""
    if not _names(flow):
        return flow
    new = {node.value for node in _names(flow)}
    remaining = [node for node in _names(base) if node.value not in new]
    items = flow.value if isinstance(flow.value, list) else [flow]
    return Node([*remaining, *items], flow.mark, flow.key)
