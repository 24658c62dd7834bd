"""A flow as a Mermaid state diagram, as GitHub renders it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .model import Chart, Item
from .text import Token

__all__ = ["chart_mermaid"]


def chart_mermaid(chart: Chart) -> str:
    """Write a chart as a `stateDiagram-v2`: one edge for each pair of states."""
    return "\n".join(_lines(chart)) + "\n"


def _lines(chart: Chart) -> Iterator[str]:
    ids = _ids(list(chart.flow.states))
    yield "stateDiagram-v2"
    yield "    direction TB"
    for card in (*chart.cards, *chart.finals):
        text = "<br/>".join([_safe(card.state), *(_line(item) for item in card.items)])
        yield f'    state "{text}" as {ids[card.state]}'
    yield f"    [*] --> {ids[chart.flow.initial]}"
    for group in chart.groups:
        text = "<br/>".join(_line(item) for item in group.items)
        yield f"    {ids[group.source]} --> {ids[group.dest]} : {text}"
    for final in chart.finals:
        yield f"    {ids[final.state]} --> [*]"
    if chart.common:
        yield from _common(chart, ids[chart.flow.initial])


def _common(chart: Chart, at: str) -> Iterator[str]:
    yield f"    note right of {at}"
    for heading, items in chart.common:
        yield f"        {heading}:"
        for item in items:
            yield f"        {_line(item)}"
    yield "    end note"


def _ids(states: list[str]) -> dict[str, str]:
    """Identifiers that Mermaid takes; its own words are avoided by the prefix."""
    return {name: f"s{i}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}" for i, name in enumerate(states)}


def _line(item: Item) -> str:
    return " ".join(_word(token) for part in item for token in part.tokens)


def _word(token: Token) -> str:
    text = _safe(token.text)
    return f"✗ {text}" if token.kind == "refused" else text


def _safe(text: str) -> str:
    """Mermaid's entities for what it would read as syntax."""
    special = '#;:"<>{}`%\\'
    return "".join(f"#{ord(c)};" if c in special else c for c in text)
