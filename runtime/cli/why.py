"""`turnfsm why`: the causes of the silences in a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnfsm.fsm import Flow, TurnfsmError
from turnfsm.fsm.journal import Journal, read_journal
from turnfsm.fsm.metrics.why import explain, explain_at, how_it_ended
from turnfsm.runtime.cli._files import begun, in_folders
from turnfsm.runtime.cli._options import FlowOfJournal, flow_of
from turnfsm.runtime.cli._streams import printable

__all__ = ["why"]


def why(
    journals: Annotated[
        list[Path],
        typer.Argument(metavar="JOURNAL...", help="Journals (JSONL files), or folders of them."),
    ],
    at: Annotated[
        float | None,
        typer.Option(min=0, help="Only the silence at this second.", show_default=False),
    ] = None,
    longer_than: Annotated[
        float, typer.Option(min=0.1, help="Only silences longer than this, in seconds.")
    ] = 2.0,
    flow: FlowOfJournal = None,
) -> None:
    """Say why conversations were silent: the cause of every silence, from their journals."""
    files = begun(in_folders(journals))
    for file in files:
        if len(files) > 1:
            print(f"{file}:")
        recorded = read_journal(file)
        run = flow_of(flow, recorded.header.flow, file)
        if at is not None:
            print(printable(_at(file, recorded, at, run)))
            continue
        for line in _silences(recorded, run, longer_than):
            print(printable(line))


def _silences(journal: Journal, flow: Flow | None, longer_than: float) -> list[str]:
    """The silences, and how the conversation ended."""
    silences = [str(silence) for silence in explain(journal, flow, longer_than=longer_than)]
    ended = how_it_ended(journal)
    return [
        *(silences or [f"no silence of more than {longer_than:g} s"]),
        *([] if ended is None else [ended]),
    ]


def _at(file: Path, journal: Journal, at: float, flow: Flow | None) -> str:
    moment = explain_at(journal, at, flow)
    if moment is None:
        last = journal.records[-1].t if journal.records else 0.0
        raise TurnfsmError(f"error: {file} ends at {last:.2f} s; give --at a time before")
    return str(moment)
