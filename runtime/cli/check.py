"""`turnfsm check`: flows are proved, with counterexamples where a proof fails."""

import json
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fsm.check import Report, as_github, as_json, as_sarif, as_text, check_flow
from fsm.check.check import LIMIT
from fsm.loader import load_flow

__all__ = ["check"]


class Format(StrEnum):
    """How the report is written."""

    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"


_WRITERS: dict[Format, Callable[[Iterable[Report]], str]] = {
    Format.text: as_text,
    Format.json: as_json,
    Format.sarif: as_sarif,
    Format.github: as_github,
}


def check(
    flows: Annotated[list[str], typer.Argument(metavar="FLOW...", help="Names or files.")],
    format: Annotated[Format, typer.Option(help="How the report is written.")] = Format.text,
    limit: Annotated[
        int, typer.Option(min=1, help="Give up after so many configurations.")
    ] = LIMIT,
    counterexample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the first counterexample as a journal (JSONL)."),
    ] = None,
) -> None:
    """Prove flows. Exit status 0: proved, 1: findings, 2: bad input."""
    reports = [check_flow(flow, limit) for flow in [load_flow(name) for name in flows]]
    if counterexample is not None:
        _write(reports, counterexample)
    typer.echo(_WRITERS[format](reports))
    raise typer.Exit(not all(report.ok for report in reports))


def _write(reports: list[Report], file: Path) -> None:
    first = next((r.traces[f] for r in reports for f in r.findings if f in r.traces), None)
    if first is not None:
        lines = [json.dumps(entry) for entry in first.journal()]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
