"""A picture of a flow as SVG: the same bytes for the same flow, everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from .chart import Chart, Item
from .geometry import PAD, TITLE, CardBox, GroupBox, Panel, Picture, Rect, Rows
from .layout import layout
from .metrics import text_width
from .shapes import arrow, attr, classes, number, path, rect, text
from .text import FACES, LINE, Run, times
from .theme import Theme, style

__all__ = ["OVERVIEW", "chart_style", "chart_svg"]

OVERVIEW = (800.0, 900.0)
"""The width of an overview and its maximum height: it fits a README and a phone."""

_RULES = Path(__file__).with_name("picture.css").read_text(encoding="utf-8")


def chart_svg(chart: Chart, theme: Theme = "auto", focus: bool = False) -> str:
    """Draw a chart; `focus` fades what does not leave the marked state."""
    return _Writer(chart, layout(chart), theme, focus).write()


def chart_style(theme: Theme, states: int) -> str:
    """The rules of a chart's colours and lines, for a page that has its own style sheet."""
    return style(_RULES, theme, states)


class _Writer:
    def __init__(self, chart: Chart, picture: Picture, theme: Theme, focus: bool) -> None:
        self.chart, self.picture, self.theme = chart, picture, theme
        self.colors = {name: i % 12 for i, name in enumerate(chart.flow.states)}
        self.focus = focus and chart.marks.state is not None

    def write(self) -> str:
        p, flow = self.picture, self.chart.flow
        width, height = p.width, p.height
        scale = 1.0
        if self.chart.brief:  # a high one gets a margin on both sides
            width = max(width, height * OVERVIEW[0] / OVERVIEW[1])
            scale = OVERVIEW[0] / width
        left = number((p.width - width) / 2)
        size = f'{number(width * scale)}" height="{number(height * scale)}'
        view = f"{left} 0 {number(width)} {number(height)}"
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tf" id="flow-{attr(flow.name)}" '
            f'width="{size}" viewBox="{view}" role="img">',
            f"<title>{escape(flow.name)}</title><desc>{escape(flow.is_)}</desc>",
            f"<style>{chart_style(self.theme, len(flow.states))}</style>",
            f'<rect class="paper" x="{left}" width="100%" height="100%"/>',
            *self._header(),
            *self._panel(p.common),
            *self._edges(),
            *(line for box in p.groups for line in self._group(box)),
            *(line for box in p.cards for line in self._card(box)),
            *self._legend(),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _header(self) -> Iterator[str]:
        p = self.picture
        x = p.legend_at[0]
        yield text(x, 42, p.title, "heading")
        for index, line in enumerate(p.subtitle):
            yield text(x, 66 + 18 * index, line, "quiet")

    def _panel(self, panel: Panel | None) -> Iterator[str]:
        if panel is None:
            return
        yield '<g id="common">' + rect(panel.rect, "panel", 8)
        y = panel.rect.y + 8
        for heading, rows in panel.sections:
            yield text(panel.rect.x + PAD, y + 13, heading, "quiet")
            yield from self._rows(rows, panel.rows_x, y, {})
            y += LINE * rows.lines + 6
        yield "</g>"

    # edges: lines first, so that no line crosses a text

    def _edges(self) -> Iterator[str]:
        for box in sorted(self.picture.groups, key=self._weight):
            group = box.group
            names = ["line", *self._group_marks(box)]
            yield f'<g id="edge-{attr(group.source)}--{attr(group.dest)}"{classes(names)}>'
            yield path(box.out, f"edge out l{self.colors[group.source]}")
            yield path(box.into, f"edge l{self.colors[group.dest]}")
            yield arrow(box.into, f"s{self.colors[group.dest]}") + "</g>"

    def _weight(self, box: GroupBox) -> int:
        """The drawing order where edges share a lane: faded, dashed, plain, marked on top."""
        marks = set(self._group_marks(box))
        if marks & {"away", "untaken", "blocked"}:
            return 0
        return 3 if marks & {"live", "taken"} else 1 + ("timers" not in marks)

    def _group_marks(self, box: GroupBox) -> list[str]:
        marks = [m for m in box.group.marks if m != "away" or self.focus]
        return (["timers"] if box.group.timers_only else []) + marks

    def _group(self, box: GroupBox) -> Iterator[str]:
        group, r = box.group, box.rect
        names = self._group_marks(box)
        yield f'<g id="label-{attr(group.source)}--{attr(group.dest)}"{classes(names)}>'
        yield rect(r, f"box l{self.colors[group.dest]}", 6)
        yield from self._rows(box.rows, r.x + PAD - 2, r.y + 6, {})
        yield "</g>"

    # cards

    def _card(self, box: CardBox) -> Iterator[str]:
        card, r = box.card, box.rect
        color = self.colors[card.state]
        yield f'<g id="state-{attr(card.state)}"{classes(self._card_marks(box))}>'
        if box.initial:
            yield from self._initial(r, color)
        yield rect(r, f"card l{color}", 10)
        yield f'<circle class="s{color}" cx="{number(r.x + 17)}" cy="{number(r.y + 19)}" r="5"/>'
        yield text(r.x + 30, r.y + 24, card.state, "title")
        if card.visits is not None:
            badge = times(card.visits)
            x = r.right - PAD - text_width(badge, FACES["badge"])
            yield text(x, r.y + 24, badge, "badge")
        y = r.y + TITLE + 4
        for line in box.sentence:
            yield text(r.x + PAD, y + 11, line, "small")
            y += 15
        if box.rows.lines:
            line = f"M{number(r.x + PAD)} {number(y + 4)}H{number(r.right - PAD)}"
            yield f'<path class="rule" d="{line}"/>'
            yield from self._rows(box.rows, r.x + PAD, y + 5, {"dest": f"dest s{color}"})
        yield "</g>"

    def _card_marks(self, box: CardBox) -> list[str]:
        marks, state = self.chart.marks, box.card.state
        names = ["final"] if self.chart.flow.states[state].final else []
        if marks.state == state:
            names.append("current")
        elif self.focus and not any(
            group.dest == state for group in self.chart.groups if "live" in group.marks
        ):
            names.append("aside")
        return names

    def _initial(self, r: Rect, color: int) -> Iterator[str]:
        x, y = r.x + 17, r.y - 20
        yield f'<circle class="s{color}" cx="{number(x)}" cy="{number(y)}" r="5"/>'
        line = ((x, y), (x, r.y - 1))
        yield path(line, f"edge l{color}") + arrow(line, f"s{color}")

    # rows

    def _rows(self, rows: Rows, x: float, y: float, names: dict[str, str]) -> Iterator[str]:
        for item, line, runs in rows.items:
            yield self._item(item, runs, x, y + LINE * line, names)

    def _item(
        self, item: Item, runs: Sequence[Run], x: float, y: float, names: dict[str, str]
    ) -> str:
        out = []
        for index, part in enumerate(item):
            out += [f'<g id="{attr(i)}">' for i in part.ids[:-1]]
            own = f' id="{attr(part.ids[-1])}"' if part.ids else ""
            out.append(f"<g{own}{classes(part.marks)}>")
            out += [f"<title>{escape(part.tip)}</title>"] if part.tip else []
            for run in runs:
                if run.part == index:
                    kind = self._kind(run, names)
                    baseline = y + LINE * run.line + 13
                    out.append(text(x + run.x, baseline, run.text, kind, run.width))
            out.append("</g>" * max(1, len(part.ids)))
        return "".join(out)

    def _kind(self, run: Run, names: dict[str, str]) -> str:
        """The classes of a run; a dest has the colour of the state that it names."""
        end = run.text.removeprefix("→ ")
        if run.kind == "dest" and end in self.colors:
            return f"dest s{self.colors[end]}"
        return names.get(run.kind, run.kind)

    def _legend(self) -> Iterator[str]:
        x, y = self.picture.legend_at
        yield '<g id="legend">'
        for runs in self.picture.legend:
            for run in runs:
                yield text(x + run.x, y + LINE * run.line, run.text, run.kind, run.width)
            y += LINE * (runs[-1].line + 1)
        yield "</g>"
