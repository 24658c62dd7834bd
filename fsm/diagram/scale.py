"""One strip of a timeline: a span of time, and where its moments are drawn."""

from __future__ import annotations

import attrs

from .geometry import Rect
from .lanes import Span
from .metrics import Face, clip, text_width
from .shapes import text
from .text import FACES

__all__ = [
    "BOLD",
    "LEFT",
    "RIGHT",
    "SMALL",
    "TEXT",
    "Drawn",
    "Strip",
    "clock",
    "fitted",
    "free_row",
    "lane_name",
]

LEFT, RIGHT = 128.0, 24.0
TEXT, BOLD, SMALL = FACES["quiet"], FACES["on"], FACES["small"]

Drawn = tuple[list[str], float]
"""Lines of SVG and the height that they take."""


@attrs.frozen
class Strip:
    """A span of time and its scale."""

    start: float
    end: float
    span: float
    width: float
    dense: bool = False

    @property
    def lines(self) -> int:
        """How many lines of speech are shown at most."""
        return 1 if self.dense else 2

    def x(self, t: float) -> float:
        inner = self.width - LEFT - RIGHT
        return LEFT + (min(max(t, self.start), self.end) - self.start) / self.span * inner

    def sees(self, span: Span) -> bool:
        """Whether any of it is drawn here."""
        return span.start < self.end and span.end >= self.start

    def holds(self, t: float) -> bool:
        """Whether the moment is drawn here."""
        return self.start <= t < self.end or t == self.end == self.start + self.span

    def box(self, span: Span, y: float, height: float) -> Rect:
        """The bar of a span, at least a pixel and a half wide."""
        left, right = self.x(span.start), self.x(span.end)
        return Rect(left, y, max(right - left, 1.5), height)


def lane_name(label: str, y: float, kind: str = "quiet") -> str:
    """The name of a lane, to the left of it."""
    face = SMALL if kind == "small" else TEXT
    return text(16, y, clip(label, face, LEFT - 24), kind)


def fitted(x: float, y: float, words: str, kind: str, face: Face) -> str:
    """Text at its natural width; nothing for empty text."""
    return text(x, y, words, kind, text_width(words, face)) if words else ""


def free_row(ends: list[float], x: float) -> int:
    """The first row that is free from x on; a new one if there is none."""
    for row, end in enumerate(ends):
        if end <= x:
            return row
    ends.append(0.0)
    return len(ends) - 1


def clock(t: float) -> str:
    """Seconds, or minutes:seconds from a minute on."""
    if t < 60:
        return f"{round(t, 1):g} s"
    minutes, seconds = divmod(t, 60)
    return f"{minutes:.0f}:{seconds:04.1f}" if seconds % 1 else f"{minutes:.0f}:{seconds:02.0f}"
