"""Places and sizes, pixels; x grows to the right, y downwards."""

from __future__ import annotations

import attrs

from .chart import Card, Group, Item
from .metrics import text_width
from .text import FACES, LINE, Run, Token, extent, flow_parts, times, wrap

__all__ = ["CardBox", "GroupBox", "Panel", "Picture", "Point", "Rect", "Rows", "lay_rows"]

Point = tuple[float, float]


@attrs.frozen
class Rect:
    """A box by its corner and size."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h


@attrs.frozen
class Rows:
    """Items under each other, in lines that count from 0."""

    items: tuple[tuple[Item, int, tuple[Run, ...]], ...]
    lines: int
    width: float


def lay_rows(items: tuple[Item, ...], width: float) -> Rows:
    """Wrap each item to a width; one word that is wider makes the rows wider."""
    placed, line, widest = [], 0, 0.0
    for item in items:
        runs = flow_parts(item, width)
        placed.append((item, line, runs))
        line += runs[-1].line + 1 if runs else 0
        widest = max(widest, extent(runs))
    return Rows(tuple(placed), line, widest)


@attrs.frozen
class CardBox:
    """A state with a place: title, sentence, rows from the top."""

    card: Card
    rect: Rect
    sentence: tuple[str, ...]
    rows: Rows
    initial: bool = False


@attrs.frozen
class GroupBox:
    """The text of an edge, the line from its source (`out`) and the line to its dest (`into`)."""

    group: Group
    rect: Rect
    rows: Rows
    out: tuple[Point, ...]
    into: tuple[Point, ...]


@attrs.frozen
class Panel:
    """Rows across the picture, with their headings to the left of them."""

    rect: Rect
    rows_x: float
    sections: tuple[tuple[str, Rows], ...]


@attrs.frozen
class Picture:
    """A flow with all its places."""

    width: float
    height: float
    title: str
    subtitle: tuple[str, ...]
    common: Panel | None
    cards: tuple[CardBox, ...]
    groups: tuple[GroupBox, ...]
    legend: tuple[tuple[Run, ...], ...]
    legend_at: Point


PAD = 12.0
TITLE = 26.0


def sentence_lines(card: Card, width: float) -> tuple[str, ...]:
    return tuple(wrap(card.sentence, FACES["small"], width))


def title_width(card: Card) -> float:
    """What the title needs, its count of visits included."""
    badge = text_width(f"  {times(card.visits)}", FACES["badge"]) if card.visits is not None else 0
    return text_width(card.state, FACES["title"]) + 22 + badge


def card_height(sentence: tuple[str, ...], rows: Rows) -> float:
    """From the top border to the bottom border."""
    gap = 7 if rows.lines else 0
    return TITLE + 15 * len(sentence) + gap + LINE * rows.lines + PAD


def group_title(group: Group) -> tuple[Token, ...]:
    """Where an edge leads, and how often it was taken."""
    badge = (Token(times(group.count), "badge"),) if group.count else ()
    return (Token(f"→ {group.dest}", "dest"), *badge)
