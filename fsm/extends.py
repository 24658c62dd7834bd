"""A flow that extends another: the base's tree, changed by name.

Mappings merge key by key; everything else that is given replaces what the base has. What a trigger
does in a state is replaced as a whole. A trigger is in `on` or in `refuses` of a state, never in
both, so giving it in one takes it out of the other. ``null`` removes.
"""

from __future__ import annotations

from typing import Any

from .diagnostics import Finding
from .errors import closest, quoted
from .source import Mark, Node, Path

__all__ = ["Merge"]

_OWN = ("flow", "is", "extends")
"""Keys that say what one file is, so that a flow does not inherit them."""

_LISTS = ("never", "always", "leads_to")


class Merge:
    """One flow laid over its base.

    Attributes:
        findings: What cannot be changed that way.
        removed: What the flow took away, and where it says so.
    """

    def __init__(self, base_name: str) -> None:
        self.base_name = base_name
        self.findings: list[Finding] = []
        self.removed: dict[Path, Mark] = {}

    def merge(self, base: Node, flow: Node) -> Node:
        """The merged root."""
        inherited = _marked(base)
        value = {name: node for name, node in inherited.value.items() if name not in _OWN}
        merged = self._mapping(Node(value, inherited.mark, inherited.key, True), flow, ())
        merged.value = {n: merged.value[n] for n in (*_OWN, *merged.value) if n in merged.value}
        return merged

    def _mapping(self, base: Node, flow: Node, path: Path) -> Node:
        out = dict(base.value)
        if _is_state(path):
            self._move(out, flow.value)
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
        return flow

    def _remove(self, out: dict[str, Node], name: str, node: Node, path: Path) -> None:
        if out.pop(name, None) is not None:
            self.removed[path] = node.key
            return
        meant = closest(name, out)
        remedy = f"did you mean {meant!r}? " if meant else ""
        remedy += "null removes; '{}' adds one that says nothing" if not meant else ""
        message = f"there is no {quoted(name)} to remove in {quoted(self.base_name)}"
        self.findings.append(node.key.finding(message, remedy.strip(), code="nothing-to-remove"))

    def _move(self, state: dict[str, Node], change: dict[str, Node]) -> None:
        """Take what the change refuses out of `on`, and what it takes out of `refuses`."""
        refused = {node.value for node in _names(change.get("refuses"))}
        taken = _keys(change.get("on")) - refused
        if "on" in state and isinstance(state["on"].value, dict):
            on = state["on"]
            left = {name: node for name, node in on.value.items() if name not in refused}
            state["on"] = Node(left, on.mark, on.key, on.base)
        if names := _names(state.get("refuses")):
            refuses = state["refuses"]
            left_names = [node for node in names if node.value not in taken]
            state["refuses"] = Node(left_names, refuses.mark, refuses.key, refuses.base)

    def _waive(self, properties: Node) -> Node:
        """A flow that waives an inherited property no longer claims it."""
        waived = _keys(properties.value.get("waived"))
        for kind in _LISTS:
            node = properties.value.get(kind)
            if node is not None and isinstance(node.value, list):
                kept = [n for n in node.value if not (n.base and _name(n) in waived)]
                properties.value[kind] = Node(kept, node.mark, node.key, node.base)
        return properties


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


def _name(node: Node) -> Any:
    name = node.value.get("name") if isinstance(node.value, dict) else None
    return name.value if name is not None else None


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
    new = {_name(node): node for node in flow.value if isinstance(_name(node), str)}
    kept = [new.pop(_name(node), node) if _name(node) in new else node for node in base.value]
    rest = [n for n in flow.value if n not in kept]
    return Node([*kept, *rest], flow.mark, flow.key)
