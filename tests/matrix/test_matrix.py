"""The total table says of every state and trigger what the machine does, whatever the facts are."""

from __future__ import annotations

import csv
import io
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt
from strategies import flows

from turnfsm.fsm import Flow, Machine, Verdict, load_flow, shipped_flows
from turnfsm.fsm.diagram.gallery import gallery
from turnfsm.fsm.matrix import Cell, as_csv, as_markdown, matrix


def _verdicts(machine: Machine, cell: Cell) -> list[Verdict]:
    """What the machine answers to a trigger under every value of the facts that its rows read."""
    read = {f for r in cell.rows for f in (*r.transition.conditions, *r.transition.unless)}
    found = []
    for values in product((False, True), repeat=len(read)):
        true = [fact for fact, value in zip(sorted(read), values, strict=True) if value]
        machine.restore(cell.state, true)
        found.append(machine.ask(cell.trigger))
    return found


def _holds(machine: Machine, cell: Cell) -> bool:
    verdicts = _verdicts(machine, cell)
    refused = {verdict.reason for verdict in verdicts if not verdict}
    rows = {verdict.row for verdict in verdicts if verdict}
    match cell.kind:
        case "facts only":
            return not refused and rows == {None}
        case "refused":
            return refused == {"refuses"} and not rows
        case "ignored":
            return refused == {"ignores"} and not rows
        case "unarmed":
            return cell.trigger not in machine.program.flow.states[cell.state].after
    known = rows <= {*(row.id for row in cell.rows), None}
    otherwise = None in rows if cell.otherwise == "facts only" else refused == {"guard"}
    return known and (otherwise or cell.total) and not (cell.total and (refused or None in rows))


def _check(flow: Flow) -> None:
    table, machine = matrix(flow), Machine(flow)
    assert len(table.cells) == len(flow.states) * (len(flow.triggers) + len(flow.timers))
    for cell in table.cells.values():
        if len({f for r in cell.rows for f in r.transition.conditions + r.transition.unless}) <= 6:
            assert _holds(machine, cell), cell


@pytest.mark.parametrize("name", sorted(shipped_flows()))
def test_the_table_of_a_shipped_flow_is_true(name: str) -> None:
    """Each cell of a shipped flow agrees with the machine under every value of its facts."""
    _check(load_flow(name))


@settings(
    max_examples=20, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(flows(properties=False))
def test_the_table_of_a_random_flow_is_true(flow: Flow) -> None:
    """The same holds for any flow."""
    _check(flow)


def test_cells_read_as_text() -> None:
    """Alternatives are lines in order, with their guards and what happens if none holds."""
    table = matrix(load_flow("turn"))
    assert table.cells["speaking", "barge_in"].lines == (
        "→ paused [interruptible, pausable]",
        "→ interrupted [interruptible]",
        "else refused",
    )
    assert table.cells["listening", "barge_in"].lines == ("refused",)
    assert table.cells["listening", "endpointing_ended"].lines == ("facts only",)
    assert table.cells["listening", "false_interruption"].lines == ("-",)
    assert table.label("step_finished") == "step_finished (of step)"
    assert table.label("step_started") == "step_started"
    assert table.label("settle") == "settle (timer)"


def test_markdown_is_one_table() -> None:
    """A Markdown parser finds every cell where it belongs, and names as they are."""
    table = matrix(load_flow("turn"))
    tokens = MarkdownIt().enable("table").parse(as_markdown(table))
    cells = [
        "".join("\n" if c.type == "html_inline" else c.content for c in tokens[i + 1].children)
        for i, token in enumerate(tokens)
        if token.type in {"td_open", "th_open"}
    ]
    width = len(table.states) + 1
    rows = [cells[i : i + width] for i in range(0, len(cells), width)]
    assert rows[0] == ["trigger", *table.states]
    names = (*table.triggers, *table.timers)
    assert [row[0] for row in rows[1:]] == [table.label(name) for name in names]
    for name, row in zip(names, rows[1:], strict=True):
        assert row[1:] == ["\n".join(cell.lines) for cell in table.row(name)]


def test_csv_holds_every_row_of_the_flow() -> None:
    """A spreadsheet gets each transition once, and a line for every cell without one."""
    flow = load_flow("turn")
    records = list(csv.DictReader(io.StringIO(as_csv(matrix(flow)))))
    assert sorted(r["row"] for r in records if r["row"]) == sorted(row.id for row in flow.rows())
    empty = [r for r in records if not r["row"]]
    assert {r["kind"] for r in empty} == {"facts only", "refused", "ignored", "unarmed"}
    fenced = {r["trigger"] for r in records if r["of"] == "step"}
    assert "step_finished" in fenced
    assert "step_started" not in fenced


def test_the_gallery_has_the_table() -> None:
    """Each flow's table is a page that the index links; the index shows the overview."""
    flow = load_flow("session")
    files = gallery({"session": flow})
    assert files["session.matrix.md"].decode() == as_markdown(matrix(flow))
    index = files["README.md"].decode()
    assert "](session.matrix.md)" in index
    assert "](session.overview.svg)](session.svg)" in index
