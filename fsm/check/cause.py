"""Finds the line of a variant that causes a problem in the lines that it inherits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.source import Location, Path, Source

from .parts import Edge, Move

__all__ = ["placed"]

_MEANINGS = {"facts": 3, "scopes": 2, "requests": 2, "events": 2}
"""Sections whose names apply to every state, and at which depth these names are."""


def placed(
    source: Source,
    path: Path,
    way: Sequence[tuple[int, Edge]],
    message: str,
    code: str,
    remedy: str = "",
) -> Finding:
    """Locate a finding at the end of a path, or at the variant's change that made the path
    possible.

    The base is proved by itself. So the cause is the last step of the path that uses something that
    the variant changes or removes.
    """
    moves = [edge[3] for _node, edge in reversed(way)]
    taken_away = (_removal(source, moves[0]) if moves else None) or _timer(source, path)
    if taken_away is not None:
        return taken_away.finding(message, remedy, code=code)
    if not source.inherited(path):
        return source.at_key(path, message, remedy, code=code)
    for mark in (*_changes(source, moves), *_meanings(source)):
        return mark.finding(f"{message}, at {source.place(path)}", remedy, code=code)
    return source.at_key(path, message, remedy, code=code)


def _timer(source: Source, path: Path) -> Location | None:
    """A timer that the variant removes from a state; it is on no path."""
    gone = source.removed.items() if len(path) == 2 else ()
    return next((mark for where, mark in gone if where[:3] == (*path, "after")), None)


def _changes(source: Source, moves: Sequence[Move]) -> Iterator[Location]:
    for move in moves:
        for section in ("on", "after"):
            row: Path = ("states", move.source, section, move.trigger)
            if source.written(row) and not source.inherited(row):
                yield source.key(row)
        if (removal := _removal(source, move)) is not None:
            yield removal


def _removal(source: Source, move: Move) -> Location | None:
    if move.taken is not None:
        return None
    removed = source.removed
    on = removed.get(("states", move.source, "on", move.trigger))
    return on or removed.get(("states", move.source, "after", move.trigger))


def _meanings(source: Source) -> Iterator[Location]:
    """The variant's changes of facts, scopes and triggers, which affect every path."""
    for path in source.own():
        if len(path) == _MEANINGS.get(str(path[0])):
            yield source.key(path)
    yield from (mark for gone, mark in source.removed.items() if gone[0] in _MEANINGS)
