"""One strip of a timeline: lanes under each other, over one stretch of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Literal

import attrs

from .geometry import Rect
from .lanes import Lanes, Mark, Span
from .metrics import Face, clip, text_width
from .shapes import classes, number, rect, text

__all__ = ["Strip", "draw_overview", "draw_strip"]

LEFT, RIGHT = 128.0, 24.0
BAR = 22.0
ROW = 26.0
_TEXT = Face("Regular", 13)
_BOLD = Face("SemiBold", 13)
_SMALL = Face("Regular", 11)
_LABEL_ROWS = 4

Drawn = tuple[list[str], float]
"""Lines of SVG and the height that they take."""


@attrs.frozen
class Strip:
    """A stretch of time and the scale that it is drawn in."""

    start: float
    end: float
    span: float
    width: float
    rows: Literal["bar", "states"] = "bar"

    def x(self, t: float) -> float:
        """Where a moment lies."""
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


def draw_strip(lanes: Lanes, strip: Strip, top: float) -> Drawn:
    """Draw all lanes that have something in this strip."""
    drawers: tuple[Callable[[Lanes, Strip, float], Drawn], ...] = (
        _user,
        _agent,
        _tools,
        _staircase if strip.rows == "states" else _states,
        _timers,
        _refusals,
    )
    y = top + 22
    body: list[str] = []
    ends = y
    for draw in drawers:
        lines, height = draw(lanes, strip, y)
        body += lines
        y += height
        ends = y
    axis = list(_axis(strip, top, ends))
    cuts = [
        f'<path class="cutline" d="M{number(strip.x(t))} {number(top + 22)}V{number(ends)}"/>'
        for t in lanes.cuts
        if strip.holds(t)
    ]
    return [f'<g id="strip-{strip.start:g}">', *axis, *cuts, *body, "</g>"], ends - top


# the scale


def _axis(strip: Strip, top: float, bottom: float) -> Iterator[str]:
    step = next(s for s in (0.5, 1, 2, 5, 10, 15, 30, 60, 300, 600, 3600) if strip.span / s <= 20)
    tick = -(-strip.start // step) * step
    while tick <= strip.end:
        x = strip.x(tick)
        yield f'<path class="tick" d="M{number(x)} {number(top + 16)}V{number(bottom)}"/>'
        label = clock(tick)
        if x + text_width(label, _SMALL) + 4 <= strip.width:
            yield text(x + 3, top + 13, label, "small")
        tick += step


def clock(t: float) -> str:
    """Seconds, or minutes:seconds from a minute on."""
    if t < 60:
        return f"{t:g} s"
    minutes, seconds = divmod(t, 60)
    return f"{minutes:.0f}:{seconds:04.1f}" if seconds % 1 else f"{minutes:.0f}:{seconds:02.0f}"


def _name(label: str, y: float, kind: str = "quiet") -> str:
    face = _SMALL if kind == "small" else _TEXT
    return text(16, y, clip(label, face, LEFT - 24), kind)


# lanes of bars


def _user(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    return _speech("user", "user", lanes.user, strip, y)


def _speech(name: str, kind: str, spans: Sequence[Span], strip: Strip, y: float) -> Drawn:
    lines = [_name(name, y + 17)]
    seen = [span for span in spans if strip.sees(span)]
    for index, span in enumerate(seen):
        after = seen[index + 1].start if index + 1 < len(seen) else strip.end
        lines.append(_bar(span, kind, strip, y + 2, strip.x(after)))
    return lines, ROW


def _bar(span: Span, kind: str, strip: Strip, y: float, limit: float) -> str:
    """A bar with its text inside; a short bar has it behind, as far as there is room."""
    box = strip.box(span, y, BAR)
    names = f"{kind} {span.kind}" if kind == "tool" and span.kind else kind
    parts = [f"<title>{escape(span.tip or span.label)}</title>", rect(box, names, 3)]
    inside = clip(span.label, _BOLD, box.w - 12) if box.w > 26 else ""
    behind = limit - box.right - 10
    if inside == span.label or (inside and behind < box.w):
        parts.append(_text(box.x + 6, y + 16, inside, "on", _BOLD))
    elif behind > 24:
        parts.append(_text(box.right + 5, y + 16, clip(span.label, _TEXT, behind), "quiet", _TEXT))
    return f"<g>{''.join(parts)}</g>"


def _text(x: float, y: float, words: str, kind: str, face: Face) -> str:
    return text(x, y, words, kind, text_width(words, face)) if words else ""


def _agent(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    lines, height = _speech("agent audio", "agent", lanes.agent, strip, y)
    for pause in lanes.pauses:
        if strip.sees(pause):
            box = strip.box(pause, y + 3, BAR - 2)
            words = clip("paused", _SMALL, box.w - 10)
            lines.append(rect(box, "pause", 3) + _text(box.x + 5, y + 17, words, "small", _SMALL))
    lines += [_cut(strip.x(t), y) for t in lanes.cuts if strip.holds(t)]
    return lines + list(_waits(lanes, strip, y)), height


def _cut(x: float, y: float) -> str:
    d = f"M{number(x - 5)} {number(y + 1)}L{number(x + 5)} {number(y + BAR + 3)}"
    return f'<path class="cut" d="{d}"><title>cut short</title></path>'


def _waits(lanes: Lanes, strip: Strip, y: float) -> Iterator[str]:
    """How long the user waited for the agent, in the gap before the agent is heard."""
    for span in lanes.agent:
        ended = [u.end for u in lanes.user if u.end <= span.start]
        before = [a.end for a in lanes.agent if a.end <= span.start and a is not span]
        if not ended or not strip.holds(span.start) or (before and max(before) > max(ended)):
            continue
        words = f"{span.start - max(ended):.2f} s"
        width = text_width(words, _SMALL)
        if strip.x(span.start) - strip.x(max(ended)) > width + 8 and strip.holds(max(ended)):
            yield text(strip.x(span.start) - width - 5, y + 17, words, "small")


def _tools(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    seen = [span for span in lanes.tools if strip.sees(span)]
    if not seen:
        return [], 0.0
    lines = [_name("tools", y + 17)]
    ends: list[float] = []
    for span in sorted(seen, key=lambda s: s.start):
        words = text_width(span.label, _TEXT) + 16
        row = _free(ends, strip.x(span.start) - 4)
        ends[row] = max(strip.box(span, 0, 0).right, strip.x(span.start) + words)
        lines.append(_bar(span, "tool", strip, y + 2 + ROW * row, ends[row] + 30))
    return lines, ROW * len(ends)


def _free(ends: list[float], x: float) -> int:
    """The first row that is free from x on; a new one if there is none."""
    for row, end in enumerate(ends):
        if end <= x:
            return row
    ends.append(0.0)
    return len(ends) - 1


# states


def _states(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    lines = [_name("state", y + 17)]
    for span in lanes.states:
        if strip.sees(span):
            lines.append(_state(span, strip, y + 2, BAR, lanes.order.index(span.label)))
    return lines, ROW


def _state(
    span: Span, strip: Strip, y: float, height: float, color: int, words: bool = True
) -> str:
    box = strip.box(span, y, height)
    label = clip(span.label, _BOLD, box.w - 10) if words else ""
    label = label if len(label) > 2 else ""
    tip = f"<title>{escape(span.tip)}</title>"
    shape = rect(box, f"s{color % 12}", 2)
    return f"<g>{tip}{shape}{_text(box.x + 5, y + 16, label, 'on', _BOLD)}</g>"


def _staircase(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    lines = []
    for index, state in enumerate(lanes.order):
        row = y + 18 * index
        lines.append(_name(state, row + 13))
        band = Rect(LEFT, row + 1, strip.x(strip.end) - LEFT, 16)
        lines.append(rect(band, "lane", 2))
        for span in lanes.states:
            if span.label == state and strip.sees(span):
                lines.append(_state(span, strip, row + 1, 16, index, words=False))
        for mark in lanes.refusals:
            if mark.state == state and strip.holds(mark.t):
                lines.append(_cross(strip.x(mark.t), row + 9, mark))
    return lines, 18.0 * len(lanes.order) + 4


def _cross(x: float, y: float, mark: Mark) -> str:
    arms = f"M{number(x - 4)} {number(y - 4)}l8 8M{number(x + 4)} {number(y - 4)}l-8 8"
    tip = escape(f"{mark.label} refused: {mark.why}")
    return f'<path class="refusal" d="{arms}"><title>{tip}</title></path>'


# timers and refusals


def _timers(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    seen = [span for span in lanes.timers if strip.sees(span)]
    names = sorted({span.label for span in seen}, key=[s.label for s in lanes.timers].index)
    lines = []
    for index, name in enumerate(names):
        row = y + 4 + 15 * index
        lines.append(_name(name, row + 10, "small"))
        lines += [_timer(span, strip, row + 6) for span in seen if span.label == name]
    return lines, 15.0 * len(names) + (8 if names else 0)


def _timer(span: Span, strip: Strip, y: float) -> str:
    left, right = strip.x(span.start), max(strip.x(span.end), strip.x(span.start) + 1.5)
    line = f"M{number(left)} {number(y - 3)}v6m0 -3H{number(right)}"
    names = ["armed", *(["fired"] if span.kind == "fired" else [])]
    shape = f'<path{classes(names)} fill="none" d="{line}"/>'
    if span.kind == "fired" and strip.holds(span.end):
        shape += f'<circle class="fired" cx="{number(right)}" cy="{number(y)}" r="5"/>'
        words = f"{span.label} fired"
        shape += text(right + 8, y + 4, words, "small", text_width(words, _SMALL))
    return f"<g><title>{escape(span.tip)}</title>{shape}</g>"


def _refusals(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    marks = [mark for mark in lanes.refusals if strip.holds(mark.t)]
    if not marks or strip.rows == "states":
        return [], 4.0
    lines = [_name("refused", y + 18)]
    ends: list[float] = []
    for mark in marks:
        x = strip.x(mark.t)
        label, why = mark.label, clip(f" {mark.why}", _TEXT, 320)
        width = text_width(label, _BOLD) + text_width(why, _TEXT) + 12
        x0 = min(x, strip.width - 8 - width)
        row = _free(ends, x0) if len(ends) < _LABEL_ROWS or any(e <= x0 for e in ends) else None
        lines.append(_refusal(mark, x, x0, y, row, why))
        if row is not None:
            ends[row] = x0 + width + 8
    return lines, 12 + 17.0 * len(ends)


def _refusal(mark: Mark, x: float, x0: float, y: float, row: int | None, why: str) -> str:
    tip = escape(f"{mark.t:.2f} s, {mark.state}: {mark.label} refused: {mark.why}")
    depth = 9 + 17 * (row or 0) + (12 if row is not None else 0)
    shape = f'<path class="refusal" d="M{number(x)} {number(y + 2)}v{number(depth)}"/>'
    if row is not None:
        baseline = y + 19 + 17 * row
        width = text_width(mark.label, _BOLD)
        shape += text(x0 + 4, baseline, mark.label, "refused", width)
        shape += _text(x0 + 4 + width, baseline, why, "quiet", _TEXT)
    return f"<g><title>{tip}</title>{shape}</g>"


def draw_overview(
    lanes: Lanes, start: float, stop: float, width: float, top: float, strips: Iterable[Strip]
) -> Drawn:
    """Draw the whole stretch as one thin bar of states with its refusals."""
    strip = Strip(start, stop, stop - start, width)
    lines = ['<g id="overview">', *_axis(strip, top, top + 54), _name("overview", top + 37)]
    for span in lanes.states:
        if strip.sees(span):
            color = lanes.order.index(span.label)
            lines.append(_state(span, strip, top + 22, 18, color, words=False))
    for mark in lanes.refusals:
        if strip.sees(Span(mark.t, mark.t)):
            x = number(strip.x(mark.t))
            lines.append(f'<path class="refusal" d="M{x} {number(top + 43)}v9"/>')
    lines += [*_key(lanes, top + 72), "</g>"]
    return lines, 92.0


def _key(lanes: Lanes, y: float) -> Iterator[str]:
    x = LEFT
    for index, state in enumerate(lanes.order):
        yield rect(Rect(x, y - 10, 12, 12), f"s{index % 12}", 2)
        yield text(x + 17, y, state, "quiet", text_width(state, _TEXT))
        x += 17 + text_width(state, _TEXT) + 20
