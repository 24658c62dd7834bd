"""The lanes of a timeline: who speaks, which tools run, the state, timers and refusals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

import attrs

from .lanes import LaneMark, Lanes, Span
from .metrics import clip, text_width
from .scale import BOLD, RIGHT, SMALL, TEXT, Drawn, Strip, fitted, free_row, lane_name
from .shapes import classes, number, rect, text
from .text import times, wrap

__all__ = [
    "agent_lane",
    "refusals_lane",
    "state_bar",
    "states_lane",
    "timers_lane",
    "tools_lane",
    "user_lane",
]


_LABEL_ROWS = 4


def timers_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """A line for each timer, from its start to its end. Dense strips show only timers that have
    fired."""
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
    """Ticks for refusals, with trigger and reason. A tick without room for its label has only a
    tooltip."""
    marks = [mark for mark in lanes.refusals if strip.holds(mark.t)]
    if not marks:
        return [], 4.0
    repeats = groupby(marks, key=lambda mark: (mark.label, mark.why))
    rows = _placed([_label(list(same), strip) for _, same in repeats])
    depths = {label.mark: 21.0 + 17 * row for row, labels in enumerate(rows) for label in labels}
    ticks = [_tick(mark, strip.x(mark.t), y, depths.get(mark, 9.0)) for mark in marks]
    words = [
        _words(label, y + 19 + 17 * row) for row, labels in enumerate(rows) for label in labels
    ]
    return [lane_name("refused", y + 18), *ticks, *words], 12 + 17.0 * len(rows)


def _label(marks: Sequence[LaneMark], strip: Strip) -> _Label:
    first = marks[0]
    name = first.label + (f" {times(len(marks))}" if len(marks) > 1 else "")
    x, width = strip.x(first.t), text_width(name, BOLD) + 14
    room = min(320.0, strip.width - 8 - x - width)
    why = "" if strip.dense else clip(first.why, TEXT, room)
    width += text_width(why, TEXT)
    # a label that would end after the strip is drawn to the left of its tick
    left = x if x + width <= strip.width - 8 else x - width - 4
    return _Label(first, name, why, left, left + width)


def _placed(labels: Sequence[_Label]) -> list[list[_Label]]:
    """Labels in rows. Those of ignored events are placed last, where there is room."""
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


SPEECH, BAR = 13.0, 20.0


def user_lane(lanes: Lanes, strip: Strip, y: float) -> Drawn:
    """The user's speech, with its text."""
    return _speech("user", "user", lanes.user, strip, y)


def _speech(name: str, kind: str, spans: Sequence[Span], strip: Strip, y: float) -> Drawn:
    """Bars with their text below, clipped where the next bar begins."""
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
    lines += [_zigzag(strip.x(t), y) for t in lanes.interruptions if strip.holds(t)]
    return lines + list(_waits(lanes, strip, y)), height


def _zigzag(x: float, y: float) -> str:
    d = f"M{number(x - 5)} {number(y - 1)}L{number(x + 5)} {number(y + SPEECH + 5)}"
    return f'<path class="interrupted" d="{d}"><title>interrupted</title></path>'


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
