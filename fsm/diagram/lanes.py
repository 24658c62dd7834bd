"""A journal as spans of time: speech, tool calls, states, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import attrs

from turnfsm.fsm.flow import NEVER, Flow
from turnfsm.fsm.journal import Entry, Journal, Note
from turnfsm.fsm.verdicts import Refused, Taken

__all__ = ["LaneMark", "Lanes", "Span", "read_lanes"]


@attrs.frozen
class Span:
    """A span of time, in seconds.

    Attributes:
        kind: How it is drawn, such as ``fired`` or ``paused``.
        tip: Its tooltip.
    """

    start: float
    end: float
    label: str = ""
    kind: str = ""
    tip: str = ""


@attrs.frozen
class LaneMark:
    """A refusal: a trigger, the state that refused it, and why."""

    t: float
    label: str
    why: str
    state: str
    reason: str | None = None


@attrs.frozen
class Lanes:
    """A conversation over time. Timers need the flow; everything else is in the journal."""

    end: float
    order: tuple[str, ...]
    user: tuple[Span, ...]
    agent: tuple[Span, ...]
    pauses: tuple[Span, ...]
    interruptions: tuple[float, ...]
    tools: tuple[Span, ...]
    states: tuple[Span, ...]
    timers: tuple[Span, ...]
    refusals: tuple[LaneMark, ...]
    taken: int


def read_lanes(journal: Journal, flow: Flow | None = None) -> Lanes:
    """The lanes of a journal.

    Args:
        flow: The flow that was run: which states arm which timers.
    """
    end = _end(journal)
    events = journal.entries
    states = tuple(_states(journal, end))
    agent = tuple(_recorded(journal, "agent_audio", end) or _agent(events, end))
    return Lanes(
        end=end,
        order=tuple(dict.fromkeys([*(flow.states if flow else ()), *(s.label for s in states)])),
        user=tuple(_recorded(journal, "user_audio", end) or _user(journal, end)),
        agent=agent,
        pauses=tuple(_between(events, _pauses, _resumes, end)),
        interruptions=tuple(span.end for span in agent if span.kind == "interrupted"),
        tools=tuple(_tools(journal, end)),
        states=states,
        timers=tuple(_timers(flow, journal, states)) if flow else (),
        refusals=tuple(_refusals(events, flow)),
        taken=sum(bool(event.verdict) for event in events),
    )


def _end(journal: Journal) -> float:
    moments = [record.t for record in journal.records]
    moments += [_seconds(note, "end") or 0.0 for note in journal.notes]
    return max([0.1, *moments])


def _refusals(events: Iterable[Entry], flow: Flow | None) -> Iterator[LaneMark]:
    """The refused triggers, except timers whose guard does not hold, which stay due."""
    timers = flow.timers if flow else ()
    for event in events:
        verdict = event.verdict
        if isinstance(verdict, Refused) and event.trigger not in timers:
            why = verdict.why or verdict.reason
            yield LaneMark(event.t, event.trigger, why, verdict.state, verdict.reason)


Test = Callable[[Entry], bool]


def _is(*triggers: str) -> Test:
    return lambda event: event.trigger in triggers


def _does(*actions: str) -> Test:
    return lambda event: any(action in event.verdict.actions for action in actions)


def _between(
    events: Iterable[Entry], opens: Test, closes: Test, end: float, label: str = ""
) -> Iterator[Span]:
    """Spans from an opening to the next closing event. The last one may be open to the end."""
    since: float | None = None
    for event in events:
        if since is not None and closes(event):
            yield Span(since, event.t, label)
            since = None
        if since is None and opens(event):
            since = event.t
    if since is not None:
        yield Span(since, end, label)


_pauses = _does("pause_output")
_interrupts = _does("interrupt_speech", "force_interrupt")
_continues = _does("resume_output", "release_output")


def _resumes(event: Entry) -> bool:
    return _continues(event) or _interrupts(event) or _ends_step(event)


def _ends_step(event: Entry) -> bool:
    return bool(event.verdict) and event.trigger in ("step_finished", "step_interrupted")


def _notes(journal: Journal, kind: str, end: float) -> list[tuple[Note, Span]]:
    found = []
    for note in journal.notes:
        if note.kind == kind:
            start, stop = (_seconds(note, key) for key in ("start", "end"))
            first = note.t if start is None else start
            found.append((note, Span(first, max(first, end if stop is None else stop))))
    return found


def _seconds(note: Note, key: str) -> float | None:
    value = note.data.get(key)
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e7 else None


def _recorded(journal: Journal, kind: str, end: float) -> list[Span]:
    """Speech whose audio was recorded."""
    spans = []
    for note, span in _notes(journal, kind, end):
        text = str(note.data.get("text") or "")
        how = "interrupted" if note.data.get("interrupted") is True else ""
        spans.append(attrs.evolve(span, label=text, kind=how, tip=text))
    return spans


def _user(journal: Journal, end: float) -> Iterator[Span]:
    opens, closes = _is("user_started_speaking"), _is("user_stopped_speaking")
    words = [note for note in journal.notes if note.kind == "transcript"]
    spans = list(_between(journal.entries, opens, closes, end))
    for index, span in enumerate(spans):
        limit = spans[index + 1].start if index + 1 < len(spans) else end + 1
        said = [str(n.data.get("text") or "") for n in words if span.start < n.t <= limit]
        yield attrs.evolve(span, label=" ".join(said), tip=" ".join(said))


def _agent(events: Sequence[Entry], end: float) -> Iterator[Span]:
    def closes(event: Entry) -> bool:
        return event.trigger == "playout_finished" or _ends_step(event) or _interrupts(event)

    for span in _between(events, _is("playout_started"), closes, end):
        stop = next((e for e in events if e.t == span.end and closes(e)), None)
        stopped = stop is not None and stop.trigger not in ("playout_finished", "step_finished")
        yield attrs.evolve(span, kind="interrupted" if stopped else "")


def _tools(journal: Journal, end: float) -> Iterator[Span]:
    notes = _notes(journal, "tool", end)
    for note, span in notes:
        name, outcome = (str(note.data.get(key) or "") for key in ("name", "outcome"))
        tip = f"{name} {note.data.get('call_id') or ''} {outcome}".strip()
        yield attrs.evolve(span, label=name or "tool", kind=outcome, tip=tip)
    if not notes:
        ends = _is("tools_drained", "tools_released")
        yield from _between(journal.entries, _is("tool_started"), ends, end, "tool")


def _states(journal: Journal, end: float) -> Iterator[Span]:
    """A state from its entry to its exit; entering it again begins another span."""
    events = [event for event in journal.entries if event.verdict.entered]
    start, state, cause = 0.0, journal.header.initial, "the start"
    for event in events:
        yield Span(start, event.t, state, tip=f"{state}, entered by {cause}")
        start, state, cause = event.t, event.verdict.dest, event.trigger
    yield Span(start, end, state, tip=f"{state}, entered by {cause}")


def _timers(flow: Flow, journal: Journal, states: Iterable[Span]) -> Iterator[Span]:
    """Timers: armed on entry or restarted; fired, or stopped with the state."""
    taken = [entry for entry in journal.entries if isinstance(entry.verdict, Taken)]
    fired = [(e.t, e.trigger) for e in taken if e.trigger in flow.timers]
    begun = [(e.t, timer) for e in taken for timer in e.verdict.restarts]
    kept = {(e.t, timer) for e in taken for timer in e.verdict.keeps}
    armed: dict[str, float] = {}  # when each timer was started last
    for span in states:
        body = flow.states.get(span.label)
        for name in body.after if body else ():
            if flow.timers[name] == NEVER:
                continue
            went = next((t for t, n in fired if n == name and span.start <= t <= span.end), None)
            stop = span.end if went is None else went
            starts = [span.start, *(t for t, n in begun if n == name and span.start < t < stop)]
            kind = "ended" if went is None else "fired"
            for start, end in pairwise([*starts, stop]):
                if start > span.start or (start, name) not in kept:
                    armed[name] = start
                due, how = armed[name] + flow.timers[name], kind if end == stop else "restarted"
                tip = f"{name}: armed {armed[name]:.2f} s, due {due:.2f} s, {how} {end:.2f} s"
                yield Span(start, end, name, kind if end == stop else "ended", tip)
