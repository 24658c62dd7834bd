"""`turnfsm render`: a flow as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.diagram import Marks, Theme, format_of, journal_marks, state_marks
from turnfsm.fsm.diagram import render as draw
from turnfsm.fsm.journal import read_journal
from turnfsm.runtime.cli._files import write_file
from turnfsm.runtime.cli._options import FlowName, Width

__all__ = ["render"]


def render(
    flow: FlowName,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="FILE.svg, .png, .mmd, .dot or .md.")
    ],
    state: Annotated[str | None, typer.Option(help="Highlight this state.")] = None,
    facts: Annotated[
        str, typer.Option(help="The facts that are true in this state, separated by commas.")
    ] = "",
    focus: Annotated[
        bool, typer.Option("--focus", help="Fade the transitions of other states.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(help="Colour the transitions that this journal took.")
    ] = None,
    overview: Annotated[
        bool, typer.Option("--overview", help="Draw a small picture: only states and arrows.")
    ] = False,
    theme: Annotated[Theme, typer.Option(help="auto: like the system of the reader.")] = "auto",
    width: Width = 1600,
) -> None:
    """Draw a flow as SVG, PNG, Mermaid, DOT or Markdown."""
    format = format_of(str(output))
    loaded = load_flow(flow)
    marks = _marks(loaded, state, facts, focus, trace)
    if overview and marks is not None:
        raise typer.BadParameter("give --overview, or --state or --trace")
    data = draw(
        loaded, format, marks=marks, theme=theme, focus=focus, overview=overview, width=width
    )
    write_file(output, data)


def _marks(
    flow: Flow, state: str | None, facts: str, focus: bool, journal: Path | None
) -> Marks | None:
    if journal is not None:
        if state is not None:
            raise typer.BadParameter("give --state or --trace, not both")
        return journal_marks(flow, read_journal(journal))
    if state is None:
        if facts or focus:
            raise typer.BadParameter("--facts and --focus need --state")
        return None
    return state_marks(flow, state, [f.strip() for f in facts.split(",") if f.strip()])
