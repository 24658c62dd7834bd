"""Judges the mutants of an agenda table, each with one changed cell."""

from __future__ import annotations

from collections.abc import Mapping

from turnfsm.fsm.agenda.settlement import Fate, Rules

from .agenda import ALONE, explore_agenda, explore_table

__all__ = ["broken_by", "why_same"]

_LEAVES = frozenset({"delivered", "dropped"})


def broken_by(rules: Rules, other: Rules) -> str | None:
    """The property that another table with the same cells breaks, if it breaks one."""
    if not any(cell in _looked_at(rules) for cell in _differ(rules, other)):
        return None
    return explore_table(other).broken or None


def why_same(rules: Rules, other: Rules) -> str | None:
    """Why another table is equivalent; None if it is not."""
    reasons = set[str | None]()
    for row, column in _differ(rules, other):
        fates = {rules.settle[row][column], other.settle[row][column]}
        if fates <= _LEAVES:
            reasons.add("delivered and dropped both leave the agenda")
        elif column == "own_result" and not row.startswith("interrupted_by_tool"):
            reasons.add("only a tool interrupts its own reply")
        else:
            reasons.add(None)
    return None if None in reasons else next(iter(reasons), "")


def _differ(rules: Rules, other: Rules) -> list[tuple[str, str]]:
    return [
        (row, column)
        for row, cells in rules.settle.items()
        for column, fate in cells.items()
        if fate != other.settle[row][column]
    ]


class _Noted(dict[str, Fate]):
    """A row that records which of its cells are read."""

    def __init__(self, row: str, cells: Mapping[str, Fate], noted: set[tuple[str, str]]) -> None:
        super().__init__(cells)
        self.row, self.noted = row, noted

    def __getitem__(self, column: str) -> Fate:
        self.noted.add((self.row, column))
        return super().__getitem__(column)


_LOOKED_AT: dict[str, frozenset[tuple[str, str]]] = {}


def _looked_at(rules: Rules) -> frozenset[tuple[str, str]]:
    """The cells that the exploration reads. Changing any other cell has no effect on it."""
    key = repr(rules)
    if key not in _LOOKED_AT:
        noted = set[tuple[str, str]]()
        watched = Rules({row: _Noted(row, cells, noted) for row, cells in rules.settle.items()})
        for bounds in ALONE:
            explore_agenda(watched, bounds)
        _LOOKED_AT[key] = frozenset(noted)
    return _LOOKED_AT[key]
