"""A flow that extends another: the base's tree, changed by name.

Mappings merge key by key; everything else that is given replaces what the base has. What a trigger
does in a state is replaced as a whole. A trigger is in `on` or in `refuses` of a state, never in
both, so giving it in one takes it out of the other. ``null`` removes, and the base's properties
that then say nothing any more go with it.
"""

from __future__ import annotations

from typing import Any

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, quoted
from turnfsm.fsm.source import Location, Node, Path

__all__ = ["Merge"]

_OWN = ("flow", "is", "extends")
"""Keys that say what one file is, so that a flow does not inherit them."""

_LISTS = ("never", "always", "leads_to")


class Merge:
    """One flow laid over its base.

    Attributes:
        findings: What cannot be changed that way.
        removed: What the flow took away, and where it says so.
        cut: State to the place where the flow took a way to it away.
    """

    def __init__(self, base_name: str) -> None:
        self.base_name = base_name
        self.findings: list[Finding] = []
        self.removed: dict[Path, Location] = {}
        self.cut: dict[str, Location] = {}

    def merge(self, base: Node, flow: Node) -> Node:
        """The merged root."""
        inherited = _marked(base)
        value = {name: node for name, node in inherited.value.items() if name not in _OWN}
        merged = self._mapping(Node(value, inherited.mark, inherited.key, True), flow, ())
        self._drop_empty(merged.value.get("properties"))
        merged.value = {n: merged.value[n] for n in (*_OWN, *merged.value) if n in merged.value}
        return merged

    def _mapping(self, base: Node, flow: Node, path: Path) -> Node:
        out = dict(base.value)
        if _is_state(path):
            self._move(out, flow.value, path)
        for name, node in flow.value.items():
            here = (*path, name)
            if node.value is None:
                self._remove(out, name, node, here)
            elif name in out:
                out[name] = self._both(out[name], node, here)
            else:
                out[name] = node
        return Node(out, flow.mark, flow.key)

    def _both(self, base: Node, flow: Node, path: Path) -> Node:
        mappings = isinstance(base.value, dict) and isinstance(flow.value, dict)
        if mappings and not _is_transition(path):
            merged = self._mapping(base, flow, path)
            return self._waive(merged) if path == ("properties",) else merged
        if path[:1] == ("properties",) and path[-1] in _LISTS:
            return _by_name(base, flow)
        if _is_state(path[:-1]) and path[-1] == "refuses":
            return _joined(base, flow)
        if _is_transition(path):
            self._cut_off(base, flow.key)
        return flow

    def _remove(self, out: dict[str, Node], name: str, node: Node, path: Path) -> None:
        if name in out:
            self._take(out.pop(name), node.key, path)
            return
        meant = closest(name, out)
        remedy = f"did you mean {meant!r}? " if meant else ""
        remedy += "null removes; '{}' adds one that says nothing" if not meant else ""
        message = f"there is no {quoted(name)} to remove in {quoted(self.base_name)}"
        self.findings.append(node.key.finding(message, remedy.strip(), code="nothing-to-remove"))

    def _take(self, gone: Node, where: Location, path: Path) -> None:
        self.removed[path] = where
        if _is_transition(path):
            self._cut_off(gone, where)

    def _cut_off(self, transitions: Node, where: Location) -> None:
        """Nothing leads from here to where these transitions led."""
        found = transitions.value if isinstance(transitions.value, list) else [transitions]
        for dest in filter(None, (_field(node, "dest") for node in found)):
            self.cut[dest] = where

    def _move(self, state: dict[str, Node], change: dict[str, Node], path: Path) -> None:
        """Take what the change refuses out of `on`, and what it takes out of `refuses`."""
        refused = {node.value: node.mark for node in _names(change.get("refuses"))}
        taken = _keys(change.get("on")) - set(refused)
        if "on" in state and isinstance(state["on"].value, dict):
            on = state["on"]
            left = dict(on.value)
            for name in refused.keys() & left.keys():
                self._take(left.pop(name), refused[name], (*path, "on", name))
            state["on"] = Node(left, on.mark, on.key, on.base)
        if names := _names(state.get("refuses")):
            refuses = state["refuses"]
            left_names = [node for node in names if node.value not in taken]
            state["refuses"] = Node(left_names, refuses.mark, refuses.key, refuses.base)

    def _waive(self, properties: Node) -> Node:
        """A flow that waives an inherited property no longer claims it."""
        waived = _keys(properties.value.get("waived"))
        for kind, items in _lists(properties):
            gone = [n for n in items.value if n.base and _field(n, "name") in waived]
            for name in (_field(node, "name") or "" for node in gone):
                where = properties.value["waived"].value[name].key
                self.removed["properties", "waived", name] = where
            _drop(properties, kind, gone)
        return properties

    def _drop_empty(self, properties: Node | None) -> None:
        """An inherited property about what is removed cannot be broken: it goes, too."""
        if properties is not None and isinstance(properties.value, dict):
            for kind, items in _lists(properties):
                gone = [n for n in items.value if n.base and self._empty(kind, n)]
                _drop(properties, kind, gone)

    def _empty(self, kind: str, item: Node) -> bool:
        about: list[tuple[str, str | None]]
        about = [("states", _field(item, "from" if kind == "leads_to" else "state"))]
        if kind == "never":
            about.append(("actions", _field(item, "action")))
            when = item.value.get("when") if isinstance(item.value, dict) else None
            about += [("facts", node.value) for node in _names(when)]
        return any(path in self.removed for path in about)


def _is_state(path: Path) -> bool:
    return len(path) == 2 and path[0] == "states"


def _is_transition(path: Path) -> bool:
    return len(path) == 4 and path[0] == "states" and path[2] in ("on", "after")


def _marked(node: Node) -> Node:
    """A copy in which every node is inherited."""
    value: Any = node.value
    if isinstance(value, dict):
        value = {name: _marked(child) for name, child in value.items()}
    elif isinstance(value, list):
        value = [_marked(child) for child in value]
    return Node(value, node.mark, node.key, True)


def _names(node: Node | None) -> list[Node]:
    """The nodes of a name or of a list of names."""
    if node is None:
        return []
    if isinstance(node.value, str):
        return [node]
    found = node.value if isinstance(node.value, list) else []
    return [child for child in found if isinstance(child.value, str)]


def _keys(node: Node | None) -> set[str]:
    """The keys that a mapping gives, not those that it removes."""
    if node is None or not isinstance(node.value, dict):
        return set()
    return {name for name, child in node.value.items() if child.value is not None}


def _field(node: Node, key: str) -> str | None:
    """The text under a key, if there is one."""
    child = node.value.get(key) if isinstance(node.value, dict) else None
    return child.value if child is not None and isinstance(child.value, str) else None


def _lists(properties: Node) -> list[tuple[str, Node]]:
    """The lists of properties, by kind."""
    found = [(kind, properties.value.get(kind)) for kind in _LISTS]
    return [(kind, node) for kind, node in found if node and isinstance(node.value, list)]


def _drop(properties: Node, kind: str, gone: list[Node]) -> None:
    items = properties.value[kind]
    kept = [node for node in items.value if node not in gone]
    properties.value[kind] = Node(kept, items.mark, items.key, items.base)


def _joined(base: Node, flow: Node) -> Node:
    """The names of both, each once; a wrong value stays, so that it is reported."""
    if not _names(flow):
        return flow
    new = {node.value for node in _names(flow)}
    kept = [node for node in _names(base) if node.value not in new]
    items = flow.value if isinstance(flow.value, list) else [flow]
    return Node([*kept, *items], flow.mark, flow.key)


def _by_name(base: Node, flow: Node) -> Node:
    """The base's properties; one of the same name is replaced in its place, others follow."""
    if not isinstance(base.value, list) or not isinstance(flow.value, list):
        return flow
    new = {_field(node, "name"): node for node in flow.value if _field(node, "name")}
    kept = [new.pop(_field(node, "name"), node) for node in base.value]
    rest = [n for n in flow.value if n not in kept]
    return Node([*kept, *rest], flow.mark, flow.key)
