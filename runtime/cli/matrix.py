"""`turnfsm matrix`: the total table of states and triggers."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from turnfsm.fsm import load_flow
from turnfsm.fsm.matrix import Matrix, as_csv, as_markdown
from turnfsm.fsm.matrix import matrix as tabulate
from turnfsm.runtime.cli._options import FlowName
from turnfsm.runtime.cli._streams import printable

__all__ = ["matrix"]


Format = Literal["table", "markdown", "csv"]


_STYLES = {
    "taken": "green",
    "guarded": "yellow",
    "facts only": "cyan",
    "refused": "red",
    "ignored": "dim",
    "unarmed": "dim",
}


def matrix(
    flow: FlowName,
    format: Annotated[Format, typer.Option(help="Format of the table.")] = "table",
) -> None:
    """Print what every trigger does in every state, and where it is refused."""
    table = tabulate(load_flow(flow))
    if format == "table":
        _show(table)
    else:
        print(printable((as_csv if format == "csv" else as_markdown)(table)), end="")


def _show(table: Matrix) -> None:
    """One section for each trigger: states with the same cell share a row, to save width."""
    grid = Table(title=f"flow {table.flow}", title_justify="left")
    for head in ("trigger", "states", "what happens"):
        grid.add_column(head, overflow="fold")
    for trigger in (*table.triggers, *table.timers):
        label, groups = table.label(trigger), _groups(table, trigger)
        for at, ((kind, lines), states) in enumerate(groups.items(), 1):
            last = at == len(groups)
            text = printable("\n".join(lines)).replace("[", "\\[")
            grid.add_row(label, ", ".join(states), text, style=_STYLES[kind], end_section=last)
            label = ""
    Console().print(grid)


def _groups(table: Matrix, trigger: str) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """The states in which a trigger does the same; those that never arm a timer are left out."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for cell in table.row(trigger):
        lines = cell.lines
        if cell.kind != "unarmed":
            groups.setdefault((cell.kind, lines), []).append(cell.state)
    return groups
