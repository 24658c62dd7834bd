"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from turnfsm.fsm import Flow, load_flow, shipped_flows
from turnfsm.fsm.journal.recorded_flow import recorded_flow

__all__ = [
    "GOVERNED",
    "FlowName",
    "FlowOfJournal",
    "HostName",
    "JournalFile",
    "Output",
    "Width",
    "flow_of",
    "flows_of",
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
    typer.Option("--flow", help="Your flow. Default: the shipped one that it names."),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to FILE. Default: print."),
]
Width = Annotated[int, typer.Option(min=200, max=10_000, help="Width of a PNG in pixels.")]


def flow_of(named: str | None, name: str, journal: Path) -> Flow | None:
    """The flow that a journal names: the given one or a shipped one; None if there is neither.

    Raises:
        JournalError: The journal is of another flow than the given one.
    """
    if named is None and name not in shipped_flows():
        return None
    return recorded_flow(name, flows_of(named), journal)


def flows_of(*named: str | None) -> list[Flow]:
    """The flows that the user has given."""
    return [load_flow(name) for name in named if name is not None]
