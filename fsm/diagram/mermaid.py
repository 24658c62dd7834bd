"""A flow as a Mermaid state diagram, as GitHub renders it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnfsm.fsm.flow import Row, fires_in_words

from .chart import Chart

__all__ = ["chart_mermaid"]


def chart_mermaid(chart: Chart) -> str:
    """Write a chart as a `stateDiagram-v2`: what moves; `[…]` stands for a guard.

    Mermaid breaks labels after 200 pixels and lets them collide, so it is given no more.
    """
    return "\n".join(_lines(chart)) + "\n"


def _lines(chart: Chart) -> Iterator[str]:
    flow = chart.flow
    ids = _ids(list(flow.states))
    yield from ("stateDiagram-v2", "    direction TB")
    for name in flow.states:
        yield f'    state "{_safe(name)}" as {ids[name]}'
    yield f"    [*] --> {ids[flow.initial]}"
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in flow.rows():
        if not row.internal:
            pairs.setdefault((row.source, row.dest), []).append(row)
    for (source, dest), rows in pairs.items():
        text = "<br/>".join(_line(chart, row) for row in rows)
        yield f"    {ids[source]} --> {ids[dest]} : {text}"
    for final in chart.finals:
        yield f"    {ids[final.state]} --> [*]"


def _ids(states: list[str]) -> dict[str, str]:
    """Identifiers that Mermaid takes; its own words are avoided by the prefix."""
    return {name: f"s{i}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}" for i, name in enumerate(states)}


def _line(chart: Chart, row: Row) -> str:
    body = row.transition
    seconds = chart.flow.timers.get(row.trigger)
    after = f"{fires_in_words(seconds)} " if row.timer and seconds is not None else ""
    return _safe(f"{after}{row.trigger}{' […]' * bool(body.reads)}")


def _safe(text: str) -> str:
    """Mermaid's entities for what it would read as syntax."""
    special = '#;:"<>{}`%\\'
    return "".join(f"#{ord(c)};" if c in special else c for c in text)
