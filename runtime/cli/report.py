"""`turnfsm report`: the figures of conversations."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated

import attrs
import typer

from turnfsm.fsm.journal import read_journal
from turnfsm.fsm.metrics.compared import by_time
from turnfsm.fsm.metrics.figures import Figures, measure
from turnfsm.fsm.metrics.report import Format
from turnfsm.fsm.metrics.report import report as write
from turnfsm.runtime.cli._files import begun, in_folders, write_text
from turnfsm.runtime.cli._options import Output

__all__ = ["report"]

_CHUNK = 50
"""The number of journals that a process measures at a time: starting one takes as long."""


@attrs.frozen
class _Measured:
    started_at: float
    groups: tuple[str, ...]
    figures: Figures


def report(
    journals: Annotated[
        list[Path],
        typer.Argument(metavar="JOURNAL...", help="Journals (JSONL files), or folders of them."),
    ],
    format: Annotated[Format, typer.Option(help="Format of the report.")] = "text",
    silence: Annotated[
        float, typer.Option(min=0.1, help="A silence counts if it is longer than this, in seconds.")
    ] = 2.0,
    output: Output = None,
) -> None:
    """Measure conversations: latencies, interruptions, silences and their causes, states.

    Conversations of several hours, days or weeks are also shown as a trend, sessions of a `rollout`
    by group.
    """
    groups = defaultdict(list)
    measured = list(_measured(begun(in_folders(journals)), silence))
    for one in measured:
        for group in one.groups:
            groups[group].append(one.figures)
    text = write(
        Figures.over(one.figures for one in measured),
        format,
        {name: Figures.over(groups[name]) for name in sorted(groups)},
        by_time((one.started_at, one.figures) for one in measured),
    )
    write_text(text.rstrip() + "\n", output)


def _measured(paths: Sequence[Path], silence: float) -> Iterator[_Measured]:
    """Measure journals, many of them in several processes."""
    of = partial(_measure, silence=silence)
    processes = min(os.cpu_count() or 1, len(paths) // _CHUNK)
    if processes < 2:
        yield from map(of, paths)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(of, paths, chunksize=_CHUNK)


def _measure(path: Path, silence: float) -> _Measured:
    journal = read_journal(path)
    groups = (str(note.data.get("group")) for note in journal.notes if note.kind == "rollout")
    return _Measured(journal.header.started_at, tuple(groups), measure(journal, silence=silence))
