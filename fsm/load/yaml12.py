"""Parses YAML text into nodes that know their places.

YAML 1.2, core schema: ``on``, ``yes`` and ``1:30`` are text. A key given twice is an error. Tags
are not allowed: a flow is plain data. Anchors are allowed; the size of the tree that they unfold to
is limited, so that a few lines cannot grow into gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import yaml

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import quoted
from turnfsm.fsm.source import Location, Node, Page, Path, Source, Unreadable

from .syntax import explain_syntax

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "read_nodes", "read_table", "too_large", "unfold"]


_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)"
)
_NUMBER = re.compile(r"[-+.0-9a-fA-FxoEe]+")


def plain_value(text: str) -> Any:
    """The value of an unquoted scalar in YAML 1.2: null, a boolean, a number, or text.

    Raises:
        ValueError: The number has more than 40 characters.
    """
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    if len(text) > 40 and _FLOAT.match(text) and _NUMBER.fullmatch(text):
        raise ValueError(text)
    if _INT.fullmatch(text):
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    if _FLOAT.fullmatch(text):
        special = text.lstrip("+-")[1:2].lower() in ("i", "n")
        return float(text.replace(".", "", 1) if special else text)
    return text


MAX_BYTES = 256 * 1024
MAX_NODES = 20_000
MAX_DEPTH = 24

# libyaml's parser is fifteen times as fast; its marks are the same.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_ILLEGAL = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_PLAIN_TAGS = ("map", "seq", "str", "int", "float", "bool", "null")


def read_nodes(page: Page) -> tuple[Node | None, list[Finding]]:
    """The root node of a text, and its YAML problems.

    The root is None if the text could not be read at all; the findings say why.
    """
    composer = _Composer(page)
    try:
        _check_text(page)
        return composer.compose(), composer.findings
    except Unreadable as exc:
        return None, [*composer.findings, exc.finding]
    except yaml.MarkedYAMLError as exc:
        return None, [*composer.findings, explain_syntax(page, exc)]


def too_large(page: Page) -> Finding:
    """The finding for a text of more than `MAX_BYTES`."""
    message = f"the flow is larger than {MAX_BYTES // 1024} KiB"
    return Location(page).finding(message, "split it: a flow may extend another", code="too-large")


def _check_text(page: Page) -> None:
    if len(page.text) > MAX_BYTES or len(page.text.encode("utf-8", "replace")) > MAX_BYTES:
        raise Unreadable(too_large(page))
    if bad := _ILLEGAL.search(page.text):
        message = f"character U+{ord(bad.group()):04X} is not allowed in YAML"
        raise Unreadable(page.mark(bad.start()).finding(message, "remove it", code="character"))


class _Composer:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.findings: list[Finding] = []
        self.events: Iterator[Any]
        self._anchors: dict[str, Node] = {}
        self._open: set[str] = set()
        self._count = 0

    def compose(self) -> Node:
        self.events = iter(yaml.parse(self.page.text, Loader=_LOADER))
        next(self.events)
        if isinstance(next(self.events), yaml.StreamEndEvent):
            self._refuse(
                Location(self.page), "empty", "the flow is empty", "begin with 'flow: NAME'"
            )
        root = self._node(next(self.events), 0)
        next(self.events)
        again = next(self.events)
        if not isinstance(again, yaml.StreamEndEvent):
            message, remedy = "a second document begins here", "keep one flow in a file"
            self._refuse(self._mark(again), "documents", message, remedy)
        if root.value is None:
            self._refuse(
                Location(self.page), "empty", "the flow is empty", "begin with 'flow: NAME'"
            )
        return root

    def _node(self, event: Any, depth: int, key: Location | None = None) -> Node:
        mark = self._mark(event)
        self._count += 1
        _check_size(mark, self._count, depth)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, mark, key)
        self._check_tag(event, mark)
        node = Node(None, mark, key or mark)
        if event.anchor:
            self._open.add(event.anchor)
        if isinstance(event, yaml.MappingStartEvent):
            node.value = self._mapping(depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            node.value = self._sequence(depth)
        else:
            node.value = self._scalar(event, node)
        if event.anchor:
            self._open.discard(event.anchor)
            self._anchors[event.anchor] = node
        return node

    def _mapping(self, depth: int) -> dict[str, Node]:
        out: dict[str, Node] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            mark = self._mark(event)
            name = self._key(event, mark, depth)
            value = self._node(next(self.events), depth + 1, mark)
            if name is None:
                continue
            if name in out:
                remedy = f"keep one of them; the first is on line {out[name].key.line}"
                self._add(mark, "duplicate-key", f"key {quoted(name)} is given twice", remedy)
            else:
                out[name] = value
        return out

    def _key(self, event: Any, mark: Location, depth: int) -> str | None:
        if not isinstance(event, yaml.ScalarEvent):
            self._node(event, depth + 1)
            self._add(mark, "key", "a key must be a word", "write 'name: value'")
        elif event.value == "":
            self._add(mark, "key", "a key is missing before ':'", "write 'name: value'")
        elif event.value == "<<" and event.implicit[0]:
            remedy = "repeat the lines, alias a whole value (name: *anchor), or use 'extends'"
            self._add(mark, "merge-key", "YAML 1.2 has no merge key '<<'", remedy)
        else:
            self._check_tag(event, mark)
            return str(event.value)
        return None

    def _sequence(self, depth: int) -> list[Node]:
        items = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _alias(self, event: Any, mark: Location, key: Location | None) -> Node:
        target = self._anchors.get(event.anchor)
        if event.anchor in self._open:
            message = f"alias '*{event.anchor}' stands inside the value that it names"
            self._refuse(mark, "alias", message, "write the value out")
        if target is None:
            message = f"alias '*{event.anchor}' names nothing above it"
            remedy = f"write '&{event.anchor}' before the value that it stands for"
            self._add(mark, "alias", message, remedy)
        # Null would remove something. A problem with the text has the place of this finding, and is
        # left out.
        return Node(target.value if target else "", mark, key or mark)

    def _scalar(self, event: Any, node: Node) -> Any:
        if not event.implicit[0]:
            return event.value
        if event.value == "":
            node.mark = node.key  # the value is empty, so point at the key
        try:
            return plain_value(event.value)
        except ValueError:
            message = f"the number {quoted(event.value)[1:-1]} has too many digits"
            self._add(node.mark, "number", message, "write fewer, or quote it if it is text")
            return ""

    def _check_tag(self, event: Any, mark: Location) -> None:
        tag = event.tag
        if tag and tag not in {f"tag:yaml.org,2002:{plain}" for plain in _PLAIN_TAGS} | {"!"}:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            message = f"tag {quoted(shown)} is not allowed"
            self._add(mark, "tag", message, "a flow is plain data: remove the tag")

    def _mark(self, event: Any) -> Location:
        start, end = event.start_mark, event.end_mark
        line, column = start.line + 1, start.column + 1
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            width = 1
        elif end.line == start.line:
            width = max(1, end.column - start.column)
        else:
            width = max(1, len(self.page.line(line).rstrip()) - start.column)
        return Location(self.page, line, column, width)

    def _add(self, mark: Location, code: str, message: str, remedy: str) -> None:
        self.findings.append(mark.finding(message, remedy, code=code))

    def _refuse(self, mark: Location, code: str, message: str, remedy: str) -> None:
        raise Unreadable(mark.finding(message, remedy, code=code))


def _check_size(mark: Location, count: int, depth: int) -> None:
    if count > MAX_NODES or depth > MAX_DEPTH:
        limit = f"{MAX_NODES} values" if count > MAX_NODES else f"{MAX_DEPTH} levels"
        message = f"the flow unfolds to more than {limit}"
        raise Unreadable(mark.finding(message, "use fewer aliases and levels", code="too-large"))


def unfold(root: Node, source: Source) -> Any:
    """The plain data of a tree whose aliases may share nodes. Afterwards the source knows every
    place.

    Raises:
        Unreadable: The tree unfolds to more than a flow may be.
    """
    count = 0

    def build(node: Node, path: Path) -> Any:
        nonlocal count
        count += 1
        _check_size(node.mark, count, len(path))
        source.note(path, node)
        if isinstance(node.value, dict):
            return {name: build(child, (*path, name)) for name, child in node.value.items()}
        if isinstance(node.value, list):
            return [build(child, (*path, i)) for i, child in enumerate(node.value)]
        return node.value

    return build(root, ())


def read_table(file: FilePath) -> Any:
    """The plain data of a table of turnfsm's own."""
    page = Page(file.name, file.read_text(encoding="utf-8"))
    root, findings = read_nodes(page)
    assert root is not None, findings
    return unfold(root, Source(page))
