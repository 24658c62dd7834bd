"""Positions in a flow's files: pages, marks, nodes, and the source of a flow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import attrs

from .diagnostics import Finding
from .errors import quoted

__all__ = ["Location", "Node", "Page", "Path", "Source", "Unreadable"]

Path = tuple[str | int, ...]

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What YAML counts as the end of a line; str.splitlines knows more."""


@attrs.frozen(eq=False, slots=False)  # cached_property needs a dict
class Page:
    """A text with its name.

    Attributes:
        file: The name.
        text: The text.
        shipped: It is a flow that comes with turnfsm.
    """

    file: str
    text: str = attrs.field(repr=False)
    shipped: bool = False

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return _BREAK.split(self.text)

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    @property
    def whole(self) -> Location:
        """The location of the file as a whole."""
        return Location(self, 0, 0)

    def mark(self, offset: int) -> Location:
        """The place of a character, counted from 0."""
        before = _BREAK.split(self.text[:offset])
        return Location(self, len(before), len(before[-1]) + 1)


@attrs.frozen(eq=False)
class Location:
    """A span of one line, counted from 1; line and column 0 are the file as a whole."""

    page: Page
    line: int = 1
    column: int = 1
    width: int = 1

    def finding(self, message: str, remedy: str = "", **kind: Any) -> Finding:
        page = self.page
        place = (self.line, self.column, self.width)
        text = page.line(self.line)
        return Finding(*place, message, remedy, file=page.file, text=text, **kind)

    def __str__(self) -> str:
        return f"{self.page.file}:{self.line}:{self.column}"


@attrs.define(eq=False)
class Node:
    """A value of the text: a scalar, a dict of nodes or a list of nodes.

    Attributes:
        mark: The position of the value.
        key: The position of its key; that of the value if there is none.
        base: It was inherited from the flow that the file extends.
    """

    value: Any
    mark: Location
    key: Location
    base: bool = False


class Unreadable(Exception):
    """Reading cannot continue. Carries the finding that says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@attrs.define(eq=False)
class Source:
    """The position of every key and value of a flow, each in its own file.

    A path leads through the flow as it is loaded: ``("states", NAME, "on", TRIGGER)``. If a group
    of states or a section has it, `alias` maps that path to the written one.

    Attributes:
        page: The file that was loaded; inherited places are on the pages of its bases.
        removed: The names that the file removes from the flow that it extends, and where.
        removed_to: The states to which the file removes an inherited transition, and where.
        added: The states that the extended flow does not have.
        bases: The names of the flows that it extends.
    """

    page: Page
    removed: dict[Path, Location] = attrs.field(factory=dict, repr=False)
    removed_to: dict[str, Location] = attrs.field(factory=dict, repr=False)
    added: set[str] = attrs.field(factory=set, repr=False)
    bases: set[str] = attrs.field(factory=set, repr=False)
    _keys: dict[Path, Location] = attrs.field(factory=dict, repr=False)
    _values: dict[Path, Location] = attrs.field(factory=dict, repr=False)
    _inherited: set[Path] = attrs.field(factory=set, repr=False)
    _aliases: dict[Path, Path] = attrs.field(factory=dict, repr=False)

    @property
    def file(self) -> str:
        return self.page.file

    @property
    def text(self) -> str:
        return self.page.text

    def note(self, path: Path, node: Node) -> None:
        self._keys[path] = node.key
        self._values[path] = node.mark
        if node.base:
            self._inherited.add(path)

    def alias(self, path: Path, written: Path) -> None:
        """Set where a part of the loaded flow is written."""
        if path != written:
            self._aliases[path] = written

    def at(self, path: Path, message: str, remedy: str = "", **kind: Any) -> Finding:
        """A finding at a value, or at the nearest place around it."""
        return self.value(path).finding(message, remedy, **kind)

    def at_key(self, path: Path, message: str, remedy: str = "", **kind: Any) -> Finding:
        """A finding at a key, or at the nearest place around it."""
        return self.key(path).finding(message, remedy, **kind)

    def still_used(self, section: str, kind: str, name: str, path: Path) -> Finding | None:
        """The finding for an inherited part that uses a name which the file removes."""
        removed = self.removed.get((section, name))
        user = self.path(path)
        while user and not {user, _written(user)} & self._keys.keys():
            user = user[:-1]  # a default of what is written there
        if removed is None or not self.inherited(user):
            return None
        message = f"{kind} {quoted(name)} is removed, yet used in {self.place(path)}"
        remedy = "replace or remove each use"
        if path[0] == "properties":
            remedy = "waive that property below 'properties: waived:', with the reason"
        return removed.finding(message, remedy, code="removed")

    def beside(self, path: Path, file: str) -> FilePath:
        """A file whose path is relative to the file that has this value."""
        return FilePath(self.value(path).page.file).parent / file

    def place(self, path: Path) -> str:
        """``file:line:column`` of a key."""
        return str(self.key(path))

    def key(self, path: Path) -> Location:
        return self._nearest(path, self._keys)

    def value(self, path: Path) -> Location:
        return self._nearest(path, self._values)

    def path(self, path: Path) -> Path:
        """Where a part of the loaded flow is written."""
        for length in range(len(path), 1, -1):
            if (written := self._aliases.get(path[:length])) is not None:
                return (*written, *path[length:])
        return path

    def written(self, path: Path) -> bool:
        """Whether the file or a base of it has this key."""
        return self.path(path) in self._keys

    def own(self) -> Iterator[Path]:
        """The keys that the file itself sets or changes."""
        return (path for path in self._keys if path and path not in self._inherited)

    def inherited(self, path: Path) -> bool:
        """Whether a key is inherited unchanged from the flow that the file extends."""
        path = self.path(path)
        if path not in self._keys and path and isinstance(path[-1], int):
            path = path[:-1]  # the single item of a list that is written without brackets
        return path in self._inherited or _written(path) in self._inherited

    def _nearest(self, path: Path, marks: Mapping[Path, Location]) -> Location:
        path = self.path(path)
        while path:
            for candidate in (path, _written(path)):
                if candidate in marks:
                    return marks[candidate]
            path = path[:-1]
        return marks.get(path) or Location(self.page)


def _written(path: Path) -> Path:
    """The path of a transition that is written without a list, so it has no index."""
    if len(path) > 4 and path[0] in ("states", "groups") and path[4] == 0:
        return (*path[:4], *path[5:])
    return path
