"""The table of what every trigger does in every state."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import attrs

from .flow import Flow, Row, Transition
from .machine import Machine
from .program import compile_flow

__all__ = [
    "LEGEND",
    "Cell",
    "Kind",
    "Matrix",
    "as_csv",
    "as_markdown",
    "markdown_table",
    "matrix",
]

Kind: TypeAlias = Literal["taken", "guarded", "facts only", "refused", "ignored", "unarmed"]

LEGEND = (
    "`→ state` taken; `stays` taken, nothing is left or entered; `[guard]` only if it holds, "
    "else what follows; `refused` no transition takes the request; `facts only` no transition "
    "takes the event; `ignored` not even facts change; `-` the state does not have the timer. A "
    "trigger *of* a step or turn changes nothing once that is over."
)
"""The legend of the cells, in Markdown."""


@attrs.frozen
class Cell:
    """The effect of one trigger in one state.

    Attributes:
        kind: ``taken`` whatever the facts are; ``guarded`` by facts; ``refused`` for a request that
            no transition takes; ``facts only`` for an event that none takes; ``ignored`` for one
            that does not even change facts; ``unarmed`` for a timer of other states.
        rows: The alternatives, in order.
        total: One of them is always taken.
        otherwise: The outcome if no guard holds.
    """

    state: str
    trigger: str
    kind: Kind
    rows: tuple[Row, ...] = ()
    total: bool = True
    otherwise: str = "refused"

    @property
    def lines(self) -> tuple[str, ...]:
        """The cell as text, one line for each alternative."""
        if self.rows:
            return (*map(_line, self.rows), *(() if self.total else (f"else {self.otherwise}",)))
        return ("-" if self.kind == "unarmed" else self.kind,)


@attrs.frozen
class Matrix:
    """The table: one cell for each trigger or timer (rows) and state (columns).

    Attributes:
        of: For each trigger the scope that it belongs to.
    """

    flow: str
    states: tuple[str, ...]
    triggers: tuple[str, ...]
    timers: tuple[str, ...]
    of: dict[str, str]
    cells: dict[tuple[str, str], Cell]

    def row(self, trigger: str) -> list[Cell]:
        return [self.cells[state, trigger] for state in self.states]

    def label(self, trigger: str) -> str:
        """The trigger, with its scope, or marked as a timer."""
        if trigger in self.timers:
            return f"{trigger} (timer)"
        return f"{trigger} (of {self.of[trigger]})" if trigger in self.of else trigger


def matrix(flow: Flow) -> Matrix:
    """The complete table of a flow."""
    program = compile_flow(flow)
    machine = Machine(program)
    cells = {}
    for state in flow.states:
        machine.restore(state)
        for trigger in flow.triggers:
            cells[state, trigger] = _cell(flow, machine, trigger)
        for timer in flow.timers:
            armed = timer in machine.timers
            cell = _cell(flow, machine, timer) if armed else Cell(state, timer, "unarmed")
            cells[state, timer] = cell
    of, names = program.compared, (tuple(flow.states), tuple(flow.triggers), tuple(flow.timers))
    return Matrix(flow.name, *names, of, cells)


def _cell(flow: Flow, machine: Machine, trigger: str) -> Cell:
    state = machine.state
    rows = tuple(row for row in flow.rows(state) if row.trigger == trigger)
    if rows:
        total = _total([row.transition for row in rows])
        kind: Kind = "guarded" if any(row.transition.reads for row in rows) else "taken"
        event = trigger in flow.triggers and flow.triggers[trigger].kind == "event"
        return Cell(state, trigger, kind, rows, total, "facts only" if event else "refused")
    if machine.ask(trigger):
        return Cell(state, trigger, "facts only")
    request = flow.triggers[trigger].kind == "request"
    return Cell(state, trigger, "refused" if request else "ignored")


def _total(rows: Sequence[Transition]) -> bool:
    """Whether some row's guard always holds, checked by case distinction over the facts."""
    if not rows or not all(row.reads for row in rows):
        return bool(rows)
    fact = rows[0].reads[0]
    if_true = [_given(row, fact) for row in rows if fact not in row.unless]
    if_false = [_given(row, fact) for row in rows if fact not in row.conditions]
    return _total(if_true) and _total(if_false)


def _given(row: Transition, fact: str) -> Transition:
    """The rest of a row's guard once one of its facts holds."""
    conditions = tuple(f for f in row.conditions if f != fact)
    unless = tuple(f for f in row.unless if f != fact)
    return attrs.evolve(row, conditions=conditions, unless=unless)


def _line(row: Row) -> str:
    guard = row.transition.guard
    stays = f"stays, restarts {', '.join(row.transition.restarts)}".removesuffix(", restarts ")
    does = stays if row.internal else f"→ {row.dest}"
    return f"{does} [{guard}]" if guard else does


def as_markdown(table: Matrix) -> str:
    """A page for GitHub: the table with its legend."""
    return f"# {_escape(table.flow)}\n\n{LEGEND}\n\n{markdown_table(table)}"


def markdown_table(table: Matrix) -> str:
    """Only the table, for a page with its own legend."""
    head = ["trigger", *table.states]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for trigger in (*table.triggers, *table.timers):
        cells = ["<br>".join(map(_escape, cell.lines)) for cell in table.row(trigger)]
        lines.append("| " + " | ".join([_escape(table.label(trigger)), *cells]) + " |")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    for mark in ("\\", "|", "_", "*", "`", "<", "[", "]"):
        text = text.replace(mark, "\\" + mark)
    return text


def as_csv(table: Matrix) -> str:
    """One line for each alternative of each cell, for spreadsheets and programs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["state", "trigger", "timer", "of", "kind", "row", "dest", "guard", "actions", "restarts"]
    )
    writer.writerows(_records(table))
    return text.getvalue()


def _records(table: Matrix) -> Iterator[list[str]]:
    for (state, trigger), cell in table.cells.items():
        timer = "yes" if trigger in table.timers else ""
        head = [state, trigger, timer, table.of.get(trigger, ""), cell.kind]
        for row in cell.rows:
            actions = " ".join(row.transition.actions)
            restarts = " ".join(row.transition.restarts)
            dest = row.transition.dest or ""
            yield [*head, row.id, dest, row.transition.guard, actions, restarts]
        if not cell.rows:
            yield [*head, "", "", "", "", ""]
