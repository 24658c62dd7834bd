"""The line below a picture that explains it."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from .chart import Chart
from .text import Part, Run, Token, extent, flow_parts

__all__ = ["legend_runs"]


_GAP = 26.0


def legend_runs(chart: Chart, width: float) -> tuple[tuple[Run, ...], ...]:
    """Lines of samples with their meaning; only what the picture has is explained."""
    lines: list[list[Run]] = []
    x = width
    for tokens in _entries(chart):
        runs = flow_parts([Part((), tokens)], width)
        if x + extent(runs) > width:
            lines.append([])
            x = 0.0
        lines[-1] += [attrs.evolve(run, x=run.x + x) for run in runs]
        x += extent(runs) + _GAP
    return tuple(tuple(line) for line in lines)


def _entries(chart: Chart) -> Iterator[tuple[Token, ...]]:
    rows = list(chart.flow.rows())
    yield _entry(Token("trigger", "trigger"), "it arrives")
    if any(row.transition.reads for row in rows):
        yield _entry(Token("[guard]", "guard"), "and these facts hold")
    if any(row.index for row in rows):
        yield _entry(Token("else", "quiet"), "if no earlier row of this trigger was taken")
    if any(row.transition.actions for row in rows):
        yield _entry(Token("/ action", "action"), "then this is done")
    if any(row.timer for row in rows):
        yield _entry(Token("after 2 s timer", "timer"), "counted from entry; dashed if alone")
    if chart.flow.lasting:
        names = ", ".join(chart.flow.lasting)
        yield _entry(Token(names, "timer"), "continues when the state changes")
    if any(row.dest == row.source and not row.internal for row in rows):
        yield _entry(Token("↻", "dest"), "enters the state again, timers start again")
    if any(chart.flow.without_effect(card.state) for card in chart.cards):
        yield _entry(Token("refused", "refused"), "changes nothing here")


def _entry(sample: Token, meaning: str) -> tuple[Token, ...]:
    return (sample, Token(meaning, "quiet"))
