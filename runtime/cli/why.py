"""`turnfsm why`: the causes of the silences in a conversation."""

from __future__ import annotations

from typing import Annotated

import typer

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.journal import read_journal
from turnfsm.fsm.metrics.why import explain, explain_at, how_it_ended
from turnfsm.runtime.cli._options import FlowOfJournal, JournalFile, flow_of
from turnfsm.runtime.cli._streams import printable

__all__ = ["why"]


def why(
    journal: JournalFile,
    at: Annotated[
        float | None,
        typer.Option(min=0, help="Only the silence at this second.", show_default=False),
    ] = None,
    longer_than: Annotated[
        float, typer.Option(min=0.1, help="Only silences longer than this, in seconds.")
    ] = 2.0,
    flow: FlowOfJournal = None,
) -> None:
    """Say why a conversation was silent: the cause of every silence, from its journal."""
    recorded = read_journal(journal)
    run = flow_of(flow, recorded.header.flow)
    if at is None:
        silences = explain(recorded, run, longer_than=longer_than)
        for silence in silences:
            print(printable(str(silence)))
        if not silences:
            print(f"no silence of more than {longer_than:g} s")
        if (ended := how_it_ended(recorded)) is not None:
            print(printable(ended))
        return
    moment = explain_at(recorded, at, run)
    if moment is None:
        last = recorded.records[-1].t if recorded.records else 0.0
        raise TurnfsmError(f"error: {journal} ends at {last:.2f} s; give --at a time before")
    print(printable(str(moment)))
