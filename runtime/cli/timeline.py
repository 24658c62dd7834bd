"""`turnfsm timeline`: a journal over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnfsm.fsm.diagram import Theme, to_png
from turnfsm.fsm.diagram import timeline as draw
from turnfsm.fsm.journal import read_journal
from turnfsm.runtime.cli._files import write_file
from turnfsm.runtime.cli._options import FlowOfJournal, JournalFile, Width, flow_of

__all__ = ["timeline"]


def timeline(
    journal: JournalFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="FILE.svg or .png.")],
    flow: FlowOfJournal = None,
    start: Annotated[float, typer.Option("--from", min=0, help="First second to draw.")] = 0.0,
    end: Annotated[float | None, typer.Option("--to", min=0, help="Last second to draw.")] = None,
    theme: Annotated[Theme, typer.Option(help="auto: like the system of the reader.")] = "auto",
    width: Width = 1600,
) -> None:
    """Draw a journal over time, with lanes: user, agent, tools, state, timers, refusals."""
    if output.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"{output}: a timeline is .svg or .png")
    png = output.suffix == ".png"
    recorded = read_journal(journal)
    colors: Theme = "light" if png and theme == "auto" else theme
    run = flow_of(flow, recorded.header.flow, journal)
    svg = draw(recorded, run, start=start, end=end, theme=colors)
    write_file(output, to_png(svg, width) if png else svg.encode())
