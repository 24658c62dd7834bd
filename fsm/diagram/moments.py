"""Lanes of moments: timers that were armed, fired or gone, and what was refused."""

from __future__ import annotations

from html import escape

from .lanes import Lanes, Mark, Span
from .metrics import clip, text_width
from .scale import BOLD, RIGHT, SMALL, TEXT, Drawn, Strip, fitted, free_row, lane_name
from .shapes import classes, number, text

__all__ = ["refusals_lane", "timers_lane"]

_LABEL_ROWS = 4


def timers_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
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


def refusals_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """Ticks with what was refused and why; a tick without room keeps its tip."""
    marks = [mark for mark in lanes.refusals if strip.holds(mark.t)]
    if not marks or strip.rows == "states":
        return [], 4.0
    ticks, labels = [], []
    ends: list[float] = []
    for mark in marks:
        x = strip.x(mark.t)
        why = "" if strip.dense else clip(mark.why, TEXT, 320)
        width = text_width(mark.label, BOLD) + text_width(why, TEXT) + 14
        left = min(x, strip.width - 8 - width)
        free = len(ends) < _LABEL_ROWS or any(end <= left for end in ends)
        row = free_row(ends, left) if free else None
        ticks.append(_tick(mark, x, y, 9 if row is None else 21 + 17 * row))
        if row is not None:
            ends[row] = left + width + 8
            labels.append(_label(mark.label, why, left + 4, y + 19 + 17 * row))
    return [lane_name("refused", y + 18), *ticks, *labels], 12 + 17.0 * len(ends)


def _tick(mark: Mark, x: float, y: float, depth: float) -> str:
    tip = escape(f"{mark.t:.2f} s, {mark.state}: {mark.label} refused: {mark.why}")
    d = f"M{number(x)} {number(y + 2)}v{number(depth)}"
    return f'<path class="refusal" d="{d}"><title>{tip}</title></path>'


def _label(name: str, why: str, x: float, y: float) -> str:
    width = text_width(name, BOLD)
    return fitted(x, y, name, "denied", BOLD) + fitted(x + 5 + width, y, why, "quiet", TEXT)
