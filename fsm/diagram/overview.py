"""The overview of a flow: its states and the arrows between them.

A transition that many states share (the same trigger leads to the same state) is drawn once, at the
first of them. An arrow names at most two triggers, which are of different kinds: request, event or
timer.
"""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.flow import Flow, Row

from .chart import Card, Chart, Group, Item, rows_between
from .marks import Marks
from .text import Part, Token

__all__ = ["build_overview"]

_COMMON = 3
"""From so many states on, a shared transition is drawn only once."""

_MOST = 2
"""The maximum number of triggers that one arrow names."""


def build_overview(flow: Flow) -> Chart:
    """The chart of the overview: cards without rows, arrows without guards and actions."""
    colors = {name: index for index, name in enumerate(flow.states)}
    cards = [Card(name, "", (), index) for name, index in colors.items()]
    return Chart(
        flow=flow,
        marks=Marks(),
        cards=tuple(card for card in cards if not flow.states[card.state].final),
        finals=tuple(card for card in cards if flow.states[card.state].final),
        groups=tuple(_groups(flow, colors)),
        common=(),
        brief=True,
    )


def _groups(flow: Flow, colors: dict[str, int]) -> Iterator[Group]:
    pairs = rows_between(flow)
    alike = _alike(flow)
    kept = {
        pair: rows for pair, rows in pairs.items() if any(not _repeats(row, alike) for row in rows)
    }
    for name in flow.states:  # no state without a way in and a way out
        for end in (0, 1):
            ways = [pair for pair in pairs if pair[end] == name]
            if ways and not any(pair in kept for pair in ways):
                kept[ways[0]] = pairs[ways[0]]
    for pair in pairs:
        if pair in kept:
            rows = _named(flow, kept[pair], alike)
            items = tuple(_item(flow, row) for row in rows)
            timers = all(row.timer for row in rows)
            yield Group(*pair, items, timers, colors[pair[1]])


def _alike(flow: Flow) -> dict[tuple[str, str], list[str]]:
    """Trigger and dest to the states that have such a row, in order."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in flow.rows():
        if row.dest != row.source:
            sources = found.setdefault((row.trigger, row.dest), [])
            sources += [row.source] if row.source not in sources else []
    return found


def _repeats(row: Row, alike: dict[tuple[str, str], list[str]]) -> bool:
    """Whether many states share this transition, and it is drawn at an earlier one."""
    sources = alike[row.trigger, row.dest]
    return len(sources) >= _COMMON and sources[0] != row.source


def _named(flow: Flow, rows: list[Row], alike: dict[tuple[str, str], list[str]]) -> list[Row]:
    own = [row for row in rows if not _repeats(row, alike)]
    if all(row.timer for row in own):
        own = rows
    kinds: dict[str, Row] = {}
    for row in own:
        kind = "timer" if row.timer else flow.triggers[row.trigger].kind
        kinds.setdefault(kind, row)
    order = ("request", "event", "timer")
    return [kinds[kind] for kind in order if kind in kinds][:_MOST]


def _item(flow: Flow, row: Row) -> Item:
    token = Token(row.trigger, "timer" if row.timer else "trigger")
    tip = "" if row.timer else flow.triggers[row.trigger].is_
    return (Part((), (token,), tip),)
