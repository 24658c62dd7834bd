"""Finds sections in the form before 0.1, and says which key replaces each."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import quoted
from turnfsm.fsm.source import Node

__all__ = ["old_form"]

_PROPERTIES = ("never", "always", "leads_to")


def old_form(root: Node) -> list[Finding]:
    """One finding for each section in the old form. Then nothing else is reported for the file."""
    if not isinstance(root.value, dict):
        return []
    return [*_triggers(root), *_facts(root), *_properties(root)]


def _triggers(root: Node) -> Iterator[Finding]:
    triggers = root.value.get("triggers")
    if triggers is None or "requests" in root.value or "events" in root.value:
        return
    asked = [n for n, body in _items(triggers) if _text(body, "kind") == "request"]
    remedy = f"list {_listed(asked)} below 'requests:', the others below 'events:'"
    if not asked:
        remedy = "list them below 'events:', or 'requests:' where a refusal means: do not"
    message = "'triggers' is now 'requests' and 'events'"
    yield triggers.key.finding(message, remedy, code="old-form")


def _facts(root: Node) -> Iterator[Finding]:
    facts = root.value.get("facts")
    for name, body in _items(facts):
        given = _text(body, "given") is not None
        names = isinstance(body.value, dict) and body.value.get("set_by")
        if given or (names and not isinstance(names.value, dict)):
            scope = "host" if given else _text(body, "scope") or "session"
            yield body.key.finding(
                "facts are now listed by scope",
                f"list {quoted(name)} below '{scope}:', and that below 'facts:'",
                code="old-form",
            )
            return


def _properties(root: Node) -> Iterator[Finding]:
    properties = root.value.get("properties")
    for kind, items in _items(properties):
        if kind in _PROPERTIES and isinstance(items.value, list) and items.value:
            name = _text(items.value[0], "name") or "NAME"
            yield items.key.finding(
                "properties are now given by name",
                f"write '{name}: {{...}}' below '{kind}:', without the dash and 'name:'",
                code="old-form",
            )


def _items(node: Node | None) -> list[tuple[str, Node]]:
    return list(node.value.items()) if node is not None and isinstance(node.value, dict) else []


def _text(node: Node, key: str) -> str | None:
    child = node.value.get(key) if isinstance(node.value, dict) else None
    return child.value if child is not None and isinstance(child.value, str) else None


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(quoted, names[:8]))
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
