"""A journal over time, as SVG: lanes for user, agent, tools, state, timers and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import count, takewhile
from pathlib import Path

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Journal

from .bars import (
    agent_lane,
    refusals_lane,
    state_bar,
    states_lane,
    timers_lane,
    tools_lane,
    user_lane,
)
from .geometry import Rect
from .lanes import Lanes, Span, read_lanes
from .metrics import text_width
from .scale import LEFT, SMALL, TEXT, Drawn, Strip, clock, lane_name
from .shapes import number, rect, text
from .theme import Theme, style

__all__ = ["stacked", "timeline"]

_HEARD = (user_lane, agent_lane, tools_lane)
_ALL = (*_HEARD, states_lane, timers_lane, refusals_lane)


def draw_strip(
    lanes: Lanes,
    strip: Strip,
    top: float,
    drawers: tuple[Callable[[Lanes, Strip, float], Drawn], ...] = _ALL,
    name: str = "strip",
) -> Drawn:
    """Draw the lanes that have something in this strip."""
    y = top + 22
    body: list[str] = []
    for draw in drawers:
        lines, height = draw(lanes, strip, y)
        body += lines
        y += height
    interruptions = [
        f'<path class="stopline" d="M{number(strip.x(t))} {number(top + 22)}V{number(y)}"/>'
        for t in lanes.interruptions
        if strip.holds(t)
    ]
    head = [f'<g id="{name}-{strip.start:g}">', *_axis(strip, top, y)]
    return [*head, *interruptions, *body, "</g>"], y - top


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
    x = LEFT
    for index, state in enumerate(lanes.order):
        yield rect(Rect(x, y - 10, 12, 12), f"s{index % 12}", 2)
        yield text(x + 17, y, state, "quiet", text_width(state, TEXT))
        x += 17 + text_width(state, TEXT) + 20


WIDTH = 1200.0
_ROWS = (30, 60, 120, 300, 600, 1800, 3600)  # seconds that one strip may have
_MOST = 16  # strips in one picture

_RULES = Path(__file__).with_name("timeline.css").read_text(encoding="utf-8")


def timeline(
    journal: Journal,
    flow: Flow | None = None,
    *,
    start: float = 0.0,
    end: float | None = None,
    theme: Theme = "auto",
) -> str:
    """Draw a journal over time, as SVG. More than a minute is drawn as several strips.

    Args:
        journal: The journal.
        flow: The flow that made it: the order of its states, and its timers.
        start: Where the picture begins, in seconds from the start of the journal.
        end: Where it ends, in seconds; None is the end of the journal.
        theme: ``light``, ``dark``, or ``auto``: as the reader's system has it.

    Returns:
        The SVG.

    Raises:
        TurnfsmError: There is nothing between `start` and `end`.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.diagram import timeline
        >>> timeline(read_journal("journal.jsonl"))[:4]
        '<svg'
    """
    lanes = read_lanes(journal, flow)
    stop = lanes.end if end is None else min(end, lanes.end)
    if start >= stop:
        message = (
            f"nothing between {start:g} s and {stop:g} s; the journal has 0 to {lanes.end:g} s"
        )
        raise TurnfsmError(message)
    return "\n".join(_lines(lanes, journal.header.flow, start, stop, theme)) + "\n"


def stacked(journals: Mapping[str, Journal], *, theme: Theme = "auto") -> str:
    """Draw who speaks and which tools run in several journals, on one scale, as SVG."""
    conversations = {name: read_lanes(journal) for name, journal in journals.items()}
    longest = max(lanes.end for lanes in conversations.values())
    body: list[str] = []
    y = 10.0
    strip = Strip(0.0, longest, longest, WIDTH)
    for place, (name, lanes) in enumerate(conversations.items(), 1):
        drawn, height = draw_strip(lanes, strip, y + 26, _HEARD, f"journal{place}")
        body += [text(16, y + 18, name, "trigger"), *drawn]
        y += height + 36
    return "\n".join(_svg(" and ".join(journals), body, y, theme)) + "\n"


def _svg(
    title: str, body: list[str], height: float, theme: Theme, states: int = 0
) -> Iterator[str]:
    size = f'width="{number(WIDTH)}" height="{number(height)}"'
    view = f'viewBox="0 0 {number(WIDTH)} {number(height)}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="tf" {size} {view} role="img">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{style(_RULES, theme, states)}</style>"
    yield '<rect class="paper" width="100%" height="100%"/>'
    yield from body
    yield "</svg>"


def _lines(lanes: Lanes, name: str, start: float, stop: float, theme: Theme) -> Iterator[str]:
    strips = _strips(start, stop)
    body = list(draw_key(lanes, 90.0))
    y = 106.0
    if len(strips) > 1:
        overview, height = draw_overview(lanes, start, stop, WIDTH, y)
        body += overview
        y += height
    for strip in strips:
        drawn, height = draw_strip(lanes, strip, y)
        body += drawn
        y += height + 14
    title = f"{name or 'journal'}: {clock(start)} to {clock(stop)}"
    head = [text(24, 40, title, "heading"), text(24, 62, _summary(lanes), "quiet")]
    yield from _svg(title, [*head, *body], y + 8, theme, len(lanes.order))


def _summary(lanes: Lanes) -> str:
    counts = (
        (lanes.taken, "trigger taken", "triggers taken"),
        (len(lanes.refusals), "refused", "refused"),
        (len(lanes.interruptions), "interrupted", "interrupted"),
        (sum(s.kind == "fired" for s in lanes.timers), "timer fired", "timers fired"),
    )
    return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts)


def _strips(start: float, stop: float) -> list[Strip]:
    length = stop - start
    if length <= 60:
        return [Strip(start, stop, length, WIDTH)]
    span = next((s for s in _ROWS if length <= s * _MOST), length / _MOST)
    begins = takewhile(lambda begin: begin < stop, (start + n * span for n in count()))
    return [Strip(begin, min(begin + span, stop), span, WIDTH, True) for begin in begins]
