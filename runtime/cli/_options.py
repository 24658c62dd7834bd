"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from turnfsm.fsm import Flow, load_flow, shipped_flows

__all__ = [
    "GOVERNED",
    "FlowName",
    "FlowOfJournal",
    "HostName",
    "JournalFile",
    "Output",
    "Width",
    "flow_of",
]

HostName = Literal["livekit", "pipecat"]

GOVERNED = {"livekit": "a TurnSession", "pipecat": "a Pipecat pipeline"}
"""What a flow governs on each framework, for messages."""

FlowName = Annotated[
    str, typer.Argument(metavar="FLOW", help="A shipped flow, such as turn, or a .yaml file.")
]
JournalFile = Annotated[Path, typer.Argument(metavar="JOURNAL", help="A journal (JSONL file).")]
FlowOfJournal = Annotated[
    str | None,
    typer.Option("--flow", help="The flow of the journal. Default: the flow that it names."),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to FILE. Default: print."),
]
Width = Annotated[int, typer.Option(min=200, max=10_000, help="Width of a PNG in pixels.")]


def flow_of(named: str | None, recorded_name: str) -> Flow | None:
    """The named flow; else the journal's, if it is a shipped one."""
    if named is not None:
        return load_flow(named)
    return load_flow(recorded_name) if recorded_name in shipped_flows() else None
