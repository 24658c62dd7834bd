"""`turnfsm report`: the figures of conversations."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer

from turnfsm.fsm.journal import read_journal
from turnfsm.fsm.metrics.figures import Figures, measure
from turnfsm.fsm.metrics.report import Format
from turnfsm.fsm.metrics.report import report as write
from turnfsm.runtime.cli._files import begun, write_text
from turnfsm.runtime.cli._options import Output

__all__ = ["report"]


def report(
    journals: Annotated[
        list[Path], typer.Argument(metavar="JOURNAL...", help="Journals (JSONL files).")
    ],
    format: Annotated[Format, typer.Option(help="Format of the report.")] = "text",
    silence: Annotated[
        float, typer.Option(min=0.1, help="A silence counts if it is longer than this, in seconds.")
    ] = 2.0,
    output: Output = None,
) -> None:
    """Measure conversations: latencies, interruptions, silences and their causes, states.

    Sessions of a `rollout` are also shown by group.
    """
    measured, groups = [], defaultdict(list)
    for path in begun(journals):
        journal = read_journal(path)
        measured.append(measure(journal, silence=silence))
        for note in journal.notes:
            if note.kind == "rollout":
                groups[str(note.data.get("group"))].append(measured[-1])
    each = {name: Figures.over(groups[name]) for name in sorted(groups)}
    write_text(write(Figures.over(measured), format, each).rstrip() + "\n", output)
