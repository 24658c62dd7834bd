"""A strip with all its lanes, and the overview of all strips."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .bars import agent_lane, state_bar, states_lane, states_staircase, tools_lane, user_lane
from .geometry import Rect
from .lanes import Lanes, Span
from .metrics import text_width
from .moments import refusals_lane, timers_lane
from .scale import LEFT, SMALL, TEXT, Drawn, Strip, clock, lane_name
from .shapes import number, rect, text

__all__ = ["draw_key", "draw_overview", "draw_strip"]


def draw_strip(lanes: Lanes, strip: Strip, top: float) -> Drawn:
    """Draw all lanes that have something in this strip."""
    drawers: tuple[Callable[[Lanes, Strip, float], Drawn], ...] = (
        user_lane,
        agent_lane,
        tools_lane,
        states_staircase if strip.rows == "states" else states_lane,
        timers_lane,
        refusals_lane,
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


def _axis(strip: Strip, top: float, bottom: float) -> Iterator[str]:
    step = next(s for s in (0.5, 1, 2, 5, 10, 15, 30, 60, 300, 600, 3600) if strip.span / s <= 20)
    tick = -(-strip.start // step) * step
    while tick <= strip.end:
        x = strip.x(tick)
        yield f'<path class="tick" d="M{number(x)} {number(top + 16)}V{number(bottom)}"/>'
        label = clock(tick)
        if x + text_width(label, SMALL) + 4 <= strip.width:
            yield text(x + 3, top + 13, label, "small")
        tick += step


def draw_overview(lanes: Lanes, start: float, stop: float, width: float, top: float) -> Drawn:
    """Draw the whole time as one thin bar of states with its refusals."""
    strip = Strip(start, stop, stop - start, width)
    lines = ['<g id="overview">', *_axis(strip, top, top + 54), lane_name("overview", top + 37)]
    for span in lanes.states:
        if strip.sees(span):
            color = lanes.order.index(span.label)
            lines.append(state_bar(span, strip, top + 22, 18, color, words=False))
    for mark in lanes.refusals:
        if strip.sees(Span(mark.t, mark.t)):
            x = number(strip.x(mark.t))
            lines.append(f'<path class="refusal" d="M{x} {number(top + 43)}v9"/>')
    lines.append("</g>")
    return lines, 72.0


def draw_key(lanes: Lanes, y: float) -> Iterator[str]:
    """The states and their colours."""
    x = LEFT
    for index, state in enumerate(lanes.order):
        yield rect(Rect(x, y - 10, 12, 12), f"s{index % 12}", 2)
        yield text(x + 17, y, state, "quiet", text_width(state, TEXT))
        x += 17 + text_width(state, TEXT) + 20
