"""The spine: states in declared order down the middle, one box of text for each pair of states.

Steps to the next state run down the spine. Skips forward run down the left, returns run up the
right. On a side, all edges to one state share one lane, so a picture has fewer lanes than states.

Nothing overlaps, by construction. A state owns a horizontal band. In its band the arrow into the
state runs above the boxes of the edges that leave it; boxes have a column of their own beside the
cards, lanes run outside that column; between cards and column is a gutter for the lines that go
from a card to its boxes.
"""

from __future__ import annotations

import attrs

from .chart import Card, Chart, Group, Item
from .geometry import (
    PAD,
    CardBox,
    GroupBox,
    Panel,
    Picture,
    Point,
    Rect,
    Rows,
    card_height,
    group_title,
    lay_rows,
    sentence_lines,
    title_width,
)
from .legend import legend_runs
from .metrics import text_width
from .text import FACES, LINE, Part, wrap

__all__ = ["layout"]

MARGIN = 24.0
GUTTER = 34.0
LANE = 16.0
BAND_GAP = 40.0  # room for an arrow and the dot of the initial state
BOX_GAP = 12.0
CHANNEL = 17.0  # from the top of a band to the arrow into its state
TEXT_MAX = 300.0


@attrs.frozen
class _Box:
    """A group with its rows, before it has a place."""

    group: Group
    rows: Rows
    w: float
    h: float


def _box(group: Group, brief: bool) -> _Box:
    title: tuple[Item, ...] = () if brief else ((Part((), group_title(group)),),)
    rows = lay_rows((*title, *group.items), TEXT_MAX)
    return _Box(group, rows, rows.width + 2 * PAD - 4, LINE * rows.lines + 12)


@attrs.frozen
class _Side:
    """The boxes of one side, by the index of their source, and the lane of each dest."""

    boxes: dict[int, list[_Box]]
    dests: frozenset[int]

    @property
    def column(self) -> float:
        return max((box.w for stack in self.boxes.values() for box in stack), default=0.0)

    def stack_height(self, index: int) -> float:
        """From the top of the band to below the last box."""
        stack = self.boxes.get(index, [])
        top = self.stack_top(index)
        return top + sum(box.h + BOX_GAP for box in stack) - BOX_GAP if stack else top

    def stack_top(self, index: int) -> float:
        """Where the first box begins: below the arrow into the state, if there is one."""
        return CHANNEL + 12 if index in self.dests else 2.0


class _Spine:
    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.gap = 18.0 if chart.brief else BAND_GAP
        self.index = {card.state: i for i, card in enumerate(chart.cards)}
        self.tops: list[float] = []
        self.heights: list[float] = []
        self.bottom = 0.0
        self.straight: dict[int, _Box] = {}
        left: dict[int, list[_Box]] = {}
        right: dict[int, list[_Box]] = {}
        for group in chart.groups:
            i, j = self.index[group.source], self.index[group.dest]
            if j == i + 1:
                self.straight[i] = _box(group, chart.brief)
            else:
                (left if j > i else right).setdefault(i, []).append(_box(group, chart.brief))
        self.left, self.right = self._side(left), self._side(right)

    def _side(self, boxes: dict[int, list[_Box]]) -> _Side:
        for stack in boxes.values():
            stack.sort(key=lambda box: self.index[box.group.dest])
        dests = frozenset(self.index[box.group.dest] for s in boxes.values() for box in s)
        return _Side(boxes, dests)

    def picture(self) -> Picture:
        self.x, self.card_width = 0.0, self._card_width()
        self._bands()
        left_lanes = self._lanes(self.left)
        right_lanes = self._lanes(self.right)
        self.x = MARGIN + self._side_width(self.left, left_lanes)
        right = self.x + self.card_width + self._side_width(self.right, right_lanes)
        width = right + MARGIN if self.chart.brief else max(right + MARGIN, 560.0)
        inner = width - 2 * MARGIN
        said = [] if self.chart.brief else [self.chart.flow.is_, _now(self.chart)]
        subtitle = tuple(line for words in said for line in wrap(words, FACES["guard"], inner))
        panel, y = self._panel(MARGIN + (not self.chart.brief) * (34 + 18 * len(subtitle)), inner)
        self.tops = [top + y + 28 for top in self.tops]
        self.bottom += y + 28
        cards = [self._card(card, self.tops[i]) for i, card in enumerate(self.chart.cards)]
        groups = [self._straight(i, box) for i, box in self.straight.items()]
        groups += self._sided(self.left, left_lanes, -1)
        groups += self._sided(self.right, right_lanes, 1)
        y = self.bottom
        for card in self.chart.finals:
            cards.append(self._card(card, y + 34))
            y = cards[-1].rect.bottom
        legend = () if self.chart.brief else legend_runs(self.chart, inner)
        lines = sum(runs[-1].line + 1 for runs in legend)
        return Picture(
            width=width,
            height=y + MARGIN + (34 + lines * LINE - 8 if legend else 0),
            title=self.chart.flow.name,
            subtitle=subtitle,
            common=panel,
            cards=tuple(cards),
            groups=tuple(groups),
            legend=legend,
            legend_at=(MARGIN, y + 34),
        )

    def _card_width(self) -> float:
        cards = (*self.chart.cards, *self.chart.finals)
        widths = [lay_rows(card.items, TEXT_MAX).width for card in cards]
        widths += [title_width(card) for card in cards]
        widths += [box.w - 2 * PAD for box in self.straight.values()]
        return max([*widths, 0.0 if self.chart.brief else 220.0]) + 2 * PAD

    def _side_width(self, side: _Side, lanes: dict[int, int]) -> float:
        if not side.boxes:
            return 0.0
        return GUTTER + side.column + LANE * (max(lanes.values()) + 1.5)

    # the vertical places

    def _bands(self) -> None:
        y = 0.0
        for i, card in enumerate(self.chart.cards):
            self.tops.append(y)
            self.heights.append(self._card(card, y).rect.h)
            y += max(self._center(i), self.left.stack_height(i), self.right.stack_height(i))
            y += self.gap
        self.bottom = y - self.gap

    def _center(self, i: int) -> float:
        box = self.straight.get(i)
        return self.heights[i] + (box.h + (14 if self.chart.brief else 22) if box else 0)

    # the lanes

    def _lanes(self, side: _Side) -> dict[int, int]:
        """Dest to lane, counted from the inside; lanes are shared where spans are apart."""
        spans = {d: self._span(side, d) for d in side.dests}
        lanes: dict[int, int] = {}
        for dest in sorted(spans, key=lambda d: (spans[d][1] - spans[d][0], d)):
            lane = 0
            while any(lanes[o] == lane and _meet(spans[o], spans[dest]) for o in lanes):
                lane += 1
            lanes[dest] = lane
        return lanes

    def _span(self, side: _Side, dest: int) -> tuple[float, float]:
        ends = [self.tops[dest] + CHANNEL]
        for source, stack in side.boxes.items():
            for box, y in self._stack(side, source, stack):
                if self.index[box.group.dest] == dest:
                    ends.append(y + _EXIT)
        return min(ends), max(ends)

    def _stack(self, side: _Side, i: int, stack: list[_Box]) -> list[tuple[_Box, float]]:
        y, placed = self.tops[i] + side.stack_top(i), []
        for box in stack:
            placed.append((box, y))
            y += box.h + BOX_GAP
        return placed

    # the places of cards and boxes

    def _card(self, card: Card, y: float) -> CardBox:
        inner = self.card_width - 2 * PAD
        sentence, rows = sentence_lines(card, inner), lay_rows(card.items, inner)
        height = card_height(sentence, rows)
        if not self.chart.flow.states[card.state].final:
            height = max(height, CHANNEL + (22 if self.chart.brief else 44))
        rect = Rect(self.x, y, self.card_width, height)
        return CardBox(card, rect, sentence, rows, card.state == self.chart.flow.initial)

    def _straight(self, i: int, box: _Box) -> GroupBox:
        middle = self.x + self.card_width / 2
        start = self.tops[i] + self.heights[i]
        end = (*self.tops, self.bottom)[i + 1]
        y = start + (end - start - box.h) / 2 - 4
        rect = Rect(middle - box.w / 2, y, box.w, box.h)
        out = ((middle, start), (middle, rect.y))
        return GroupBox(box.group, rect, box.rows, out, ((middle, rect.bottom), (middle, end)))

    def _sided(self, side: _Side, lanes: dict[int, int], sign: int) -> list[GroupBox]:
        return [
            self._beside(side, lanes, sign, i, box, y)
            for i, stack in sorted(side.boxes.items())
            for box, y in self._stack(side, i, stack)
        ]

    def _beside(
        self, side: _Side, lanes: dict[int, int], sign: int, i: int, box: _Box, y: float
    ) -> GroupBox:
        edge = self.x if sign < 0 else self.x + self.card_width
        near = edge + sign * GUTTER
        far = near + sign * box.w
        rail = edge + sign * GUTTER * 0.45
        dest = self.index[box.group.dest]
        lane = near + sign * (side.column + LANE * (lanes[dest] + 1))
        leave = self.tops[i] + min(side.stack_top(i) + _EXIT, self.heights[i] - 8)
        here, arrive = y + _EXIT, self.tops[dest] + CHANNEL
        out = _bend((edge, leave), (rail, leave), (rail, here), (near, here))
        into = _bend((far, here), (lane, here), (lane, arrive), (edge, arrive))
        rect = Rect(min(near, far), y, box.w, box.h)
        return GroupBox(box.group, rect, box.rows, out, into)

    # the panel above

    def _panel(self, y: float, inner: float) -> tuple[Panel | None, float]:
        if not self.chart.common:
            return None, y
        headings = [text_width(heading, FACES["quiet"]) for heading, _ in self.chart.common]
        indent = PAD + max(headings) + 20
        sections, height = [], 8.0
        for heading, items in self.chart.common:
            rows = lay_rows(items, inner - indent - PAD)
            sections.append((heading, rows))
            height += LINE * rows.lines + 6
        rect = Rect(MARGIN, y, inner, height + 4)
        return Panel(rect, MARGIN + indent, tuple(sections)), rect.bottom


_EXIT = 6 + LINE / 2
"""From the top of a box to the line that enters and leaves it: the middle of its first row."""


def _now(chart: Chart) -> str:
    if chart.marks.state is None:
        return ""
    return f"Now: {chart.marks.state}, with {', '.join(chart.marks.facts) or 'no fact'}."


def _bend(*points: Point) -> tuple[Point, ...]:
    """The points without those that repeat the one before."""
    kept = [points[0]]
    for point in points[1:]:
        if point != kept[-1]:
            kept.append(point)
    if len(kept) == 4 and kept[0][1] == kept[3][1]:
        return (kept[0], kept[3])
    return tuple(kept)


def _meet(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] + LANE and other[0] < one[1] + LANE


def layout(chart: Chart) -> Picture:
    return _Spine(chart).picture()
