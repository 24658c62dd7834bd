"""The SVG elements that pictures consist of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .geometry import Point, Rect
from .metrics import text_width
from .text import FACES

__all__ = ["arrow", "attr", "classes", "number", "path", "rect", "text"]


def number(value: float) -> str:
    """At most one decimal, none when it is whole."""
    return f"{value:.1f}".removesuffix(".0")


def attr(value: str) -> str:
    """Text for an attribute; spaces cannot stand in an id."""
    return escape(value.replace(" ", "_"))


def classes(names: Iterable[str]) -> str:
    """The class attribute, or nothing."""
    joined = " ".join(names)
    return f' class="{joined}"' if joined else ""


def rect(r: Rect, name: str, radius: float) -> str:
    place = f'x="{number(r.x)}" y="{number(r.y)}" width="{number(r.w)}" height="{number(r.h)}"'
    return f'<rect class="{name}" {place} rx="{number(radius)}"/>'


def text(x: float, y: float, words: str, kind: str, width: float | None = None) -> str:
    """A line of text that is as wide as in our fonts, whatever fonts the reader has."""
    w = text_width(words, FACES[kind.split()[0]]) if width is None else width
    place = f'x="{number(x)}" y="{number(y)}" textLength="{number(w)}"'
    fit = ' lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{kind}" {place}{fit}>{escape(words)}</text>'


def path(points: Sequence[Point], name: str) -> str:
    """A line with round corners."""
    first, *rest = points
    d = [f"M{number(first[0])} {number(first[1])}"]
    for index, corner in enumerate(rest[:-1]):
        before, after = points[index], rest[index + 1]
        radius = min(8.0, _length(before, corner) / 2, _length(corner, after) / 2)
        a, b = _toward(corner, before, radius), _toward(corner, after, radius)
        d.append(f"L{number(a[0])} {number(a[1])}")
        d.append(f"Q{number(corner[0])} {number(corner[1])} {number(b[0])} {number(b[1])}")
    d.append(f"L{number(rest[-1][0])} {number(rest[-1][1])}")
    return f'<path class="{name}" d="{"".join(d)}"/>'


def arrow(points: Sequence[Point], name: str) -> str:
    """The head at the end of a line."""
    tip, before = points[-1], points[-2]
    a = _toward(tip, before, 10)
    dx, dy = (tip[1] - a[1]) * 0.45, (tip[0] - a[0]) * 0.45
    corners = (tip, (a[0] + dx, a[1] + dy), (a[0] - dx, a[1] - dy))
    d = "L".join(f"{number(x)} {number(y)}" for x, y in corners)
    return f'<path class="{name}" d="M{d}Z"/>'


def _length(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _toward(start: Point, end: Point, by: float) -> Point:
    span = _length(start, end) or 1.0
    share = by / span
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
