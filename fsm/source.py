"""YAML text to plain data that remembers where everything stood.

YAML 1.2: ``on``, ``yes`` and ``1:30`` are strings. A key given twice is an error. Tags that would
build objects do not exist here: a flow is data. Anchors are allowed; the tree that they unfold to
is bounded, so that a few lines cannot grow into gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
import yaml

from .diagnostics import Finding

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Path", "Source", "read_source"]

Path = tuple[str | int, ...]

MAX_BYTES = 256 * 1024
MAX_NODES = 20_000
MAX_DEPTH = 24


class _Core12(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2's core schema only."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the base class declares it so)


for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Core12.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first)
    )


@attrs.frozen
class _Mark:
    line: int
    column: int
    width: int


@attrs.define
class Source:
    """A file and the place of every key and value in it.

    Attributes:
        file: The name that findings carry.
        text: The whole text.
    """

    file: str
    text: str
    _keys: dict[Path, _Mark] = attrs.field(factory=dict, repr=False)
    _values: dict[Path, _Mark] = attrs.field(factory=dict, repr=False)

    def at(self, path: Path, message: str, remedy: str = "", **kind: Any) -> Finding:
        """A finding at a value, or at the nearest place around it."""
        return self._finding(self._nearest(path, self._values), message, remedy, kind)

    def at_key(self, path: Path, message: str, remedy: str = "", **kind: Any) -> Finding:
        """A finding at a key, or at the nearest place around it."""
        return self._finding(self._nearest(path, self._keys), message, remedy, kind)

    def place(self, path: Path) -> str:
        """``file:line:column`` of a key."""
        mark = self._nearest(path, self._keys)
        return f"{self.file}:{mark.line}:{mark.column}"

    def _nearest(self, path: Path, marks: Mapping[Path, _Mark]) -> _Mark:
        while path and path not in marks:
            path = path[:-1]
        return marks.get(path, _Mark(1, 1, 1))

    def _finding(self, mark: _Mark, message: str, remedy: str, kind: dict[str, Any]) -> Finding:
        lines = self.text.splitlines()
        text = lines[mark.line - 1] if mark.line <= len(lines) else ""
        return Finding(
            mark.line, mark.column, mark.width, message, remedy, file=self.file, text=text, **kind
        )


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Finding] = []
        self.nodes = 0
        self.loader: _Core12

    def read(self) -> Any:
        self.loader = _Core12(self.source.text)
        node = self.loader.get_single_node()
        if node is None:
            raise _Refused(1, 1, "the file is empty", "a flow begins with 'flow: NAME'")
        return self._build(node, (), None)

    def _build(self, node: yaml.Node, path: Path, key: yaml.Node | None) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(path) > MAX_DEPTH:
            limit = f"{MAX_NODES} values" if self.nodes > MAX_NODES else f"{MAX_DEPTH} levels"
            raise _Refused(*_at(node), f"the flow unfolds to more than {limit}", "remove aliases")
        self.source._keys[path] = _mark(key or node)
        self.source._values[path] = _mark(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._build(item, (*path, i), None) for i, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _Refused(*_at(key), "a key must be a word", "write 'name: value'")
            if key.value in out:
                self._add(key, f"key {key.value!r} is given twice", "keep one of them")
                continue
            # The place is kept before the value is built, so that the value's findings have it.
            out[key.value] = None
            out[key.value] = self._build(value, (*path, key.value), key)
        return out

    def _scalar(self, node: yaml.Node) -> Any:
        if not node.tag.startswith("tag:yaml.org,2002:"):
            self._add(node, f"tag {node.tag!r} is not allowed", "a flow is plain data: remove it")
            return None
        try:
            return self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            self._add(node, f"{node.value!r} is not a plain value", "write it in quotes")
            return None

    def _add(self, node: yaml.Node, message: str, remedy: str) -> None:
        mark = _mark(node)
        self.findings.append(self.source._finding(mark, message, remedy, {"code": "yaml"}))


class _Refused(Exception):
    def __init__(self, line: int, column: int, message: str, remedy: str) -> None:
        super().__init__(message)
        self.mark, self.message, self.remedy = _Mark(line, column, 1), message, remedy


def _at(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _mark(node: yaml.Node) -> _Mark:
    start, end = node.start_mark, node.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return _Mark(start.line + 1, start.column + 1, max(1, width))


def read_source(text: str, file: str = "<flow>") -> tuple[Any, Source, list[Finding]]:
    """Plain data, the places of it, and what is wrong with the text as YAML.

    Data is None where the text could not be read at all; the findings then say why.
    """
    source = Source(file, text)
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        message = f"the flow is larger than {MAX_BYTES // 1024} KiB"
        return None, source, [source.at((), message, "split it into flows", code="yaml")]
    reader = _Reader(source)
    try:
        return reader.read(), source, reader.findings
    except _Refused as exc:
        return None, source, [source._finding(exc.mark, exc.message, exc.remedy, {"code": "yaml"})]
    except yaml.MarkedYAMLError as exc:
        return None, source, [_syntax(source, exc)]
    except yaml.reader.ReaderError as exc:
        message = f"character {exc.character!r} is not allowed in YAML"
        return None, source, [source.at((), message, "remove it", code="yaml")]
    except RecursionError:
        message = f"the flow is nested deeper than {MAX_DEPTH} levels"
        return None, source, [source.at((), message, "flatten it", code="yaml")]


def _syntax(source: Source, exc: yaml.MarkedYAMLError) -> Finding:
    where = exc.problem_mark or exc.context_mark
    mark = _Mark(where.line + 1, where.column + 1, 1) if where else _Mark(1, 1, 1)
    why = exc.problem or exc.context or "it cannot be read"
    return source._finding(mark, f"not YAML: {why}", "", {"code": "yaml"})
