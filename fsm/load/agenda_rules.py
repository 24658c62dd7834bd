"""Checks that the agenda table is complete: it must settle every ending of a reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turnfsm.fsm.agenda.settlement import COLUMNS, ROWS
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import near, quoted
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.source import Path, Source

__all__ = ["check_agenda"]


def check_agenda(flow: Flow, source: Source) -> Iterator[Finding]:
    """All problems of a flow's agenda."""
    settle = flow.agenda.settle
    yield from _unknown(flow, source)
    if not settle:
        return
    if rows := [row for row in ROWS if row not in settle]:
        message = f"the agenda has no row for {_listed(rows)}"
        remedy = "add them, or write 'extends: turn', which has them"
        yield source.at_key(("agenda", "settle"), message, remedy, code="missing-cell")
    for row, cells in settle.items():
        if row in ROWS and (columns := [column for column in COLUMNS if column not in cells]):
            message = f"row {quoted(row)} of the agenda lacks {_listed(columns)}"
            remedy = "say what becomes of each: open, with_next, with_turn, retry, done or moot"
            yield source.at_key(("agenda", "settle", row), message, remedy, code="missing-cell")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _unknown(flow: Flow, source: Source) -> Iterator[Finding]:
    for row, cells in flow.agenda.settle.items():
        path: Path = ("agenda", "settle", row)
        if row not in ROWS:
            message = f"replies do not end in a way that is called {quoted(row)}"
            yield source.at_key(path, message, near(row, ROWS), code="unknown-cell")
        for column in cells:
            if column not in COLUMNS:
                message = f"{quoted(column)} is no kind of claim"
                remedy = near(column, COLUMNS)
                yield source.at_key((*path, column), message, remedy, code="unknown-cell")
