"""Places findings at their cause, which may be a change of a variant, one for each cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.source import Location, Path, Source

from .parts import Edge, Move
from .trace import Trace

__all__ = ["by_cause", "placed"]

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


def by_cause(
    findings: Iterable[Finding], traces: dict[Finding, Trace], missing: Mapping[Finding, str]
) -> Iterator[Finding]:
    """One finding for each cause, in the order of places.

    Findings at one place have one cause, unless several lines must be added. Of several
    counterexamples the shortest is kept; it names the other broken properties.

    Args:
        missing: The line to be added, for findings with a counterexample.
    """
    causes: dict[tuple[object, ...], list[Finding]] = {}
    for finding in sorted(set(findings)):
        key: tuple[str, ...] = (finding.code, finding.remedy or finding.message)
        if finding in traces:
            key = (missing.get(finding, ""),)
        causes.setdefault((finding.place, key), []).append(finding)
    for same in causes.values():
        first = same[0]
        if first in traces:
            first = min(same, key=lambda finding: len(traces[finding].steps))
            also = dict.fromkeys(f.code for f in same if f.code not in first.message)
            proof, first = traces[first], attrs.evolve(first, also=tuple(also))
            for finding in same:
                del traces[finding]
            traces[first] = proof
        yield first
