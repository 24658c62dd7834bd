"""A flow as DOT, for Graphviz and the tools around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from .chart import Card, Chart, Group, Item
from .text import Run, flow_parts
from .theme import LIGHT, state_color

__all__ = ["chart_dot"]

_WIDTH = 300.0
_HEAD = """\
  graph [rankdir=TB, fontname="Inter,Helvetica,Arial", nodesep=0.35, ranksep=0.45];
  node [shape=plain, fontname="Inter,Helvetica,Arial", fontsize=11];
  edge [arrowsize=0.7];"""


def chart_dot(chart: Chart) -> str:
    """Write a chart as a digraph; the text of an edge is a node on the edge's line."""
    return "\n".join(_lines(chart)) + "\n"


def _lines(chart: Chart) -> Iterator[str]:
    yield f"digraph {_quoted(chart.flow.name)} {{"
    yield _HEAD
    yield '  initial [shape=point, width=0.12, label=""];'
    yield f"  initial -> {_quoted(chart.flow.initial)};"
    for card in (*chart.cards, *chart.finals):
        look = f"id={_quoted('state-' + card.state)}, label=<{_card(card)}>"
        yield f"  {_quoted(card.state)} [{look}];"
    for group in chart.groups:
        yield from _group(chart, group)
    if chart.common:
        yield f'  "in every state" [id="common", label=<{_common(chart)}>];'
    yield "}"


def _group(chart: Chart, group: Group) -> Iterator[str]:
    name, color = f"{group.source}--{group.dest}", state_color(group.color)
    # ranked forwards, drawn backwards: Graphviz then keeps the declared order
    order = list(chart.flow.states)
    back = order.index(group.dest) < order.index(group.source)
    look = f'color="{color}"' + (", style=dashed" if group.timers_only else "")
    label = _table((_line(item) for item in group.items), color, 1)
    yield f"  {_quoted(name)} [id={_quoted('label-' + name)}, label=<{label}>];"
    first, last = (group.dest, group.source) if back else (group.source, group.dest)
    heads = ("dir=back", "arrowhead=none") if back else ("arrowhead=none", "dir=forward")
    halves = ((first, name), (name, last))
    for (a, b), head, half in zip(halves, heads, ("a", "b"), strict=True):
        edge = _quoted(f"edge-{name}-{half}")
        yield f"  {_quoted(a)} -> {_quoted(b)} [{look}, {head}, id={edge}];"


def _card(card: Card) -> str:
    color = state_color(card.color)
    title = f'<font point-size="14" color="{color}"><b>{escape(card.state)}</b></font>'
    return _table((title, *(_line(item) for item in card.items)), color, 2)


def _common(chart: Chart) -> str:
    lines = []
    for heading, items in chart.common:
        lines.append(f'<font color="{LIGHT["quiet"]}">{escape(heading)}</font>')
        lines += [_line(item) for item in items]
    return _table(lines, LIGHT["line"], 1)


def _table(lines: Iterable[str], color: str, border: int) -> str:
    rows = "".join(f'<tr><td align="left">{line}</td></tr>' for line in lines)
    look = f'border="{border}" cellborder="0" cellspacing="0" cellpadding="2" color="{color}"'
    return f'<table {look} style="rounded" bgcolor="white">{rows}</table>'


def _line(item: Item) -> str:
    lines: dict[int, str] = {}
    for run in flow_parts(item, _WIDTH):
        before = lines.get(run.line, "&#160;&#160;&#160;" if run.line else "")
        space = " " if run.line in lines and run.kind != "comma" else ""
        lines[run.line] = before + space + _word(run)
    return '<br align="left"/>'.join(lines.values()) + '<br align="left"/>' * (len(lines) > 1)


def _word(run: Run) -> str:
    return _MARKUP.get(run.kind, "{}").format(escape(run.text))


_MARKUP = {
    "trigger": "<b>{}</b>",
    "timer": f'<font color="{LIGHT["timer"]}"><i>{{}}</i></font>',
    "refused": f'<font color="{LIGHT["refused"]}"><s>{{}}</s></font>',
    "guard": f'<font color="{LIGHT["guard"]}">{{}}</font>',
    "action": f'<font color="{LIGHT["quiet"]}">{{}}</font>',
    "quiet": f'<font color="{LIGHT["quiet"]}">{{}}</font>',
    "badge": f'<font color="{LIGHT["accent"]}"><b>{{}}</b></font>',
}


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
