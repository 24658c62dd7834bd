"""Lanes of single moments: timers that were armed, fired or stopped, and refusals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import attrs

from .lanes import LaneMark, Lanes, Span
from .metrics import clip, text_width
from .scale import BOLD, RIGHT, SMALL, TEXT, Drawn, Strip, fitted, lane_name
from .shapes import classes, number, text
from .text import times

__all__ = ["refusals_lane", "timers_lane"]

_LABEL_ROWS = 4


def timers_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """A line for each timer from arming to its end; dense strips keep those that ever fired."""
    seen = [span for span in lanes.timers if strip.sees(span)]
    if strip.dense:
        fired = {span.label for span in lanes.timers if span.kind == "fired"}
        seen = [span for span in seen if span.label in fired]
    names = sorted({span.label for span in seen}, key=[s.label for s in lanes.timers].index)
    lines = []
    for index, name in enumerate(names):
        row = y + 4 + 15 * index
        lines.append(lane_name(name, row + 10, "small"))
        own = [span for span in seen if span.label == name]
        nexts = [*(strip.x(span.start) for span in own[1:]), strip.width - RIGHT]
        lines += [_timer(s, strip, row + 6, x) for s, x in zip(own, nexts, strict=True)]
    return lines, 15.0 * len(names) + (8 if names else 0)


def _timer(span: Span, strip: Strip, y: float, limit: float) -> str:
    left, right = strip.x(span.start), max(strip.x(span.end), strip.x(span.start) + 1.5)
    line = f"M{number(left)} {number(y - 3)}v6m0 -3H{number(right)}"
    names = ["armed", *(["fired"] if span.kind == "fired" else [])]
    shape = f'<path{classes(names)} fill="none" d="{line}"/>'
    if span.kind == "fired" and strip.holds(span.end):
        shape += f'<circle class="fired" cx="{number(right)}" cy="{number(y)}" r="5"/>'
        width = text_width("fired", SMALL)
        if right + 12 + width < limit:
            shape += text(right + 8, y + 4, "fired", "small", width)
    return f"<g><title>{escape(span.tip)}</title>{shape}</g>"


@attrs.frozen
class _Label:
    """The label of one refusal, or of several in a row."""

    mark: LaneMark
    name: str
    why: str
    left: float
    right: float


def refusals_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """Ticks with what was refused and why; a tick without room for words keeps its tip."""
    marks = [mark for mark in lanes.refusals if strip.holds(mark.t)]
    if not marks or strip.rows == "states":
        return [], 4.0
    rows = _placed([_label(marks[a:b], strip) for a, b in _repeats(marks)])
    depths = {label.mark: 21.0 + 17 * row for row, labels in enumerate(rows) for label in labels}
    ticks = [_tick(mark, strip.x(mark.t), y, depths.get(mark, 9.0)) for mark in marks]
    words = [
        _words(label, y + 19 + 17 * row) for row, labels in enumerate(rows) for label in labels
    ]
    return [lane_name("refused", y + 18), *ticks, *words], 12 + 17.0 * len(rows)


def _repeats(marks: Sequence[LaneMark]) -> Iterator[tuple[int, int]]:
    """Where refusals of the same kind follow each other: from, to."""
    start = 0
    for index in range(1, len(marks) + 1):
        if index == len(marks) or _kind(marks[index]) != _kind(marks[start]):
            yield start, index
            start = index


def _kind(mark: LaneMark) -> tuple[str, str]:
    return mark.label, mark.why


def _label(marks: Sequence[LaneMark], strip: Strip) -> _Label:
    first = marks[0]
    name = first.label + (f" {times(len(marks))}" if len(marks) > 1 else "")
    x, width = strip.x(first.t), text_width(name, BOLD) + 14
    room = min(320.0, strip.width - 8 - x - width)
    why = "" if strip.dense else clip(first.why, TEXT, room)
    width += text_width(why, TEXT)
    # where the words end after the strip they stand before the tick, not across it
    left = x if x + width <= strip.width - 8 else x - width - 4
    return _Label(first, name, why, left, left + width)


def _placed(labels: Sequence[_Label]) -> list[list[_Label]]:
    """Labels in rows; events that are ignored get the room that is left."""
    rows: list[list[_Label]] = []
    for label in sorted(labels, key=lambda label: label.mark.reason == "ignores"):
        free = next((row for row in rows if all(_apart(label, other) for other in row)), None)
        if free is not None:
            free.append(label)
        elif len(rows) < _LABEL_ROWS:
            rows.append([label])
    return rows


def _apart(one: _Label, other: _Label) -> bool:
    return one.right + 8 <= other.left or other.right + 8 <= one.left


def _tick(mark: LaneMark, x: float, y: float, depth: float) -> str:
    tip = escape(f"{mark.t:.2f} s, {mark.state}: {mark.label} refused: {mark.why}")
    d = f"M{number(x)} {number(y + 2)}v{number(depth)}"
    return f'<path class="refusal" d="{d}"><title>{tip}</title></path>'


def _words(label: _Label, y: float) -> str:
    x = label.left + 4
    after = x + 5 + text_width(label.name, BOLD)
    return fitted(x, y, label.name, "denied", BOLD) + fitted(after, y, label.why, "quiet", TEXT)
