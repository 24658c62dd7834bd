"""Lanes of bars: who speaks, which tools run, the current state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import attrs

from .geometry import Rect
from .lanes import LaneMark, Lanes, Span
from .metrics import clip, text_width
from .scale import BOLD, LEFT, SMALL, TEXT, Drawn, Strip, fitted, free_row, lane_name
from .shapes import number, rect, text
from .text import wrap

__all__ = ["agent_lane", "state_bar", "states_lane", "states_staircase", "tools_lane", "user_lane"]

SPEECH, BAR = 13.0, 20.0


def user_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """The user's speech, with its text."""
    return _speech("user", "user", lanes.user, strip, y)


def _speech(name: str, kind: str, spans: Sequence[Span], strip: Strip, y: float) -> Drawn:
    """Bars with their text below, as far as there is room before the next bar."""
    lines = [lane_name(name, y + 12)]
    seen = [span for span in spans if strip.sees(span)]
    most = 0
    for index, span in enumerate(seen):
        box = strip.box(span, y + 2, SPEECH)
        tip = f"<title>{escape(span.tip)}</title>" if span.tip else ""
        lines.append(f"<g>{tip}{rect(box, kind, 3)}")
        after = strip.x(seen[index + 1].start) if index + 1 < len(seen) else strip.width - 8
        words = _wrapped(span.label, after - box.x - 6, strip.lines)
        for line, said in enumerate(words):
            lines.append(fitted(box.x, y + SPEECH + 14 + 14 * line, said, "said", TEXT))
        lines.append("</g>")
        most = max(most, len(words))
    return lines, SPEECH + 8 + 14 * most


def _wrapped(words: str, width: float, most: int) -> list[str]:
    if width < 30:
        return []
    lines = wrap(words, TEXT, width)
    if len(lines) > most:
        lines[most - 1 :] = [" ".join(lines[most - 1 :])]
    return [clip(line, TEXT, width) for line in lines]


def agent_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """The agent's playout: pauses are hollow, interruptions are marked, with the time that the user
    waited."""
    lines, height = _speech("agent audio", "agent", lanes.agent, strip, y)
    for pause in lanes.pauses:
        if strip.sees(pause):
            box = strip.box(pause, y + 2.5, SPEECH - 1)
            words = clip("paused", SMALL, box.w - 10)
            words = words if words == "paused" else ""
            lines.append(rect(box, "pause", 3) + fitted(box.x + 5, y + 12, words, "small", SMALL))
    lines += [_cut(strip.x(t), y) for t in lanes.cuts if strip.holds(t)]
    return lines + list(_waits(lanes, strip, y)), height


def _cut(x: float, y: float) -> str:
    d = f"M{number(x - 5)} {number(y - 1)}L{number(x + 5)} {number(y + SPEECH + 5)}"
    return f'<path class="cut" d="{d}"><title>cut short</title></path>'


def _waits(lanes: Lanes, strip: Strip, y: float) -> Iterator[str]:
    """How long the user waited for the agent: drawn in the gap before its speech, or at its
    start."""
    others = [*lanes.agent, *lanes.pauses]
    for span in lanes.agent:
        since = max((u.end for u in lanes.user if u.end <= span.start), default=None)
        if since is None or any(since < o.end <= span.start + 0.001 for o in others):
            continue
        if not strip.holds(span.start):
            continue
        words = f"{span.start - since:.2f} s"
        width, x = text_width(words, SMALL), strip.x(span.start)
        if strip.holds(since) and x - strip.x(since) > width + 8:
            yield text(x - width - 5, y + 12, words, "small", width)
        elif strip.box(span, y, SPEECH).w > (inside := text_width(f"+{words}", SMALL)) + 8:
            yield text(x + 4, y + 12, f"+{words}", "wait", inside)


def tools_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """Tool calls. Overlapping ones are drawn below each other."""
    seen = sorted((s for s in lanes.tools if strip.sees(s)), key=lambda s: s.start)
    if not seen:
        return [], 0.0
    lines = [lane_name("tools", y + 13)]
    ends: list[float] = []
    for span in seen:
        box = strip.box(span, 0, 16)
        words = span.label if strip.dense else f"{span.label} {span.kind}".strip()
        inside = text_width(words, BOLD) + 10 <= box.w
        if not inside and box.right + 5 + text_width(words, BOLD) > strip.width:
            words = ""
        row = free_row(ends, box.x - 2)
        ends[row] = box.right if inside else box.right + 10 + text_width(words, BOLD)
        box = attrs.evolve(box, y=y + 1 + 20 * row)
        shape = rect(box, f"tool {span.kind}".strip(), 3)
        x, kind = (box.x + 5, "on") if inside else (box.right + 5, "quiet")
        said = fitted(x, box.y + 12.5, words, kind, BOLD)
        lines.append(f"<g><title>{escape(span.tip)}</title>{shape}{said}</g>")
    return lines, 20.0 * len(ends) + 6


def states_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """One bar of the states."""
    lines = [lane_name("state", y + 16)]
    for span in lanes.states:
        if strip.sees(span):
            lines.append(state_bar(span, strip, y + 2, BAR, lanes.order.index(span.label)))
    return lines, BAR + 6


def state_bar(
    span: Span, strip: Strip, y: float, height: float, color: int, words: bool = True
) -> str:
    """A bar in the colour of its state, with the name if it fits."""
    box = strip.box(span, y, height)
    fits = words and text_width(span.label, BOLD) + 8 <= box.w
    label = span.label if fits else ""
    tip = f"<title>{escape(span.tip)}</title>"
    shape = rect(box, f"s{color % 12}", 2)
    return f"<g>{tip}{shape}{fitted(box.x + 4, y + 14.5, label, 'on', BOLD)}</g>"


def states_staircase(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """A row for each state, with what it refused."""
    lines = []
    for index, state in enumerate(lanes.order):
        row = y + 18 * index
        lines.append(lane_name(state, row + 13))
        band = Rect(LEFT, row + 1, strip.x(strip.end) - LEFT, 16)
        lines.append(rect(band, "lane", 2))
        for span in lanes.states:
            if span.label == state and strip.sees(span):
                lines.append(state_bar(span, strip, row + 1, 16, index, words=False))
        for mark in lanes.refusals:
            if mark.state == state and strip.holds(mark.t):
                lines.append(_cross(strip.x(mark.t), row + 9, mark))
    return lines, 18.0 * len(lanes.order) + 4


def _cross(x: float, y: float, mark: LaneMark) -> str:
    arms = f"M{number(x - 4)} {number(y - 4)}l8 8M{number(x + 4)} {number(y - 4)}l-8 8"
    tip = escape(f"{mark.label} refused: {mark.why}")
    return f'<path class="refusal" d="{arms}"><title>{tip}</title></path>'
