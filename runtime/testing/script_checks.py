"""The checks of a scenario, and what came of it, on any host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

import attrs

from turnfsm.fsm import Refused, Taken
from turnfsm.fsm.journal import Entry

from .heard import Heard, TimelineEntry
from .script import Check, Script
from .script_rules import head_of, moment_of

__all__ = ["Observed", "Played", "judge"]

Outcome = TypeVar("Outcome")


@attrs.frozen
class Observed:
    """What the checks look at.

    Attributes:
        script: The scenario.
        entries: The journal's entries.
        heard: The speech that the user heard.
        tools: The tool calls: name and start.
        lines: The conversation at the end, one line for each item.
        events: The timeline.
    """

    script: Script
    entries: tuple[Entry, ...]
    heard: tuple[Heard, ...]
    tools: tuple[tuple[str, float], ...]
    lines: tuple[str, ...]
    events: tuple[TimelineEntry, ...]

    def state_at(self, at: float) -> str:
        """The state of the flow at a moment."""
        state = self.entries[0].verdict.state if self.entries else ""
        for entry in self.entries:
            if isinstance(entry.verdict, Taken) and entry.t <= at:
                state = entry.verdict.dest
        return state


@attrs.frozen
class Played(Generic[Outcome]):
    """The result of a scenario.

    Attributes:
        script: The scenario.
        outcome: What was observed: the `Outcome` of the host's stage.
        entries: The journal's entries.
        problems: The checks that failed, each with its place; empty if none did.
        observed: What the checks look at.
    """

    script: Script
    outcome: Outcome
    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    observed: Observed = attrs.field(repr=False)

    def state_at(self, at: float) -> str:
        """The state of the flow at a moment."""
        return self.observed.state_at(at)

    def timeline(self) -> str:
        """The observations and the decisions of the flow, in order."""
        turn = [
            TimelineEntry(round(e.t, 6), "turn", line) for e in self.entries if (line := _line(e))
        ]
        events = sorted([*self.observed.events, *turn], key=lambda event: event.at)
        return "\n".join(map(str, events))


def judge(observed: Observed, outcome: Outcome, errors: Sequence[str]) -> Played[Outcome]:
    """Carry out the checks of a scenario that was played.

    Args:
        observed: What they look at.
        outcome: All that was observed.
        errors: Problems beside those of the checks.
    """
    script = observed.script
    problems = [
        f"{place}: {problem}"
        for place, check in zip(script.places, script.expect, strict=True)
        if (problem := _CHECKS[head_of(check)](check, observed))
    ]
    return Played(script, outcome, observed.entries, (*problems, *errors), observed)


def _line(entry: Entry) -> str:
    verdict = entry.verdict
    if isinstance(verdict, Refused):
        return f"refused {entry.trigger} in {verdict.state}: {verdict.why}"
    if verdict.entered or verdict.dest != verdict.state:
        return f"{verdict.state} -> {verdict.dest} ({entry.trigger})"
    return ""


def _speaking(check: Check, played: Observed) -> str:
    words, since = check.speaking or "", moment_of(check, played.script)
    start = _first_heard(words, [h for h in played.heard if h.start >= since - 1e-6])
    if start is None:
        return f"{words!r} is not heard after {since:.2f} s"
    took = start - since
    if check.within is not None and took > check.within + 1e-6:
        at = f"at {start:.2f} s, {took:.2f} s after {since:.2f} s"
        return f"{words!r} is heard {at}, not within {check.within:g} s"
    return ""


def _first_heard(words: str, spans: Sequence[Heard]) -> float | None:
    """When the span of audio began that contains the start of these words; a pause may split
    them."""
    start = " ".join(h.text for h in spans).find(words)
    if start < 0:
        return None
    ends = accumulate(len(h.text) + 1 for h in spans)
    return next(h.start for h, end in zip(spans, ends, strict=True) if start < end)


def _refused(check: Check, played: Observed) -> str:
    return _decided(check, played, check.refused or "", Refused, "refused")


def _taken(check: Check, played: Observed) -> str:
    return _decided(check, played, check.taken or "", Taken, "taken")


def _decided(check: Check, played: Observed, trigger: str, kind: type, word: str) -> str:
    posted = [e for e in played.entries if e.trigger == trigger]
    matching = [e for e in posted if isinstance(e.verdict, kind)]
    where = f" while {check.while_}" if check.while_ else ""
    if any(check.while_ in (None, e.verdict.state) for e in matching):
        return ""
    return f"{trigger} is not {word}{where}; it {_seen(posted)}"


def _seen(entries: list[Entry]) -> str:
    if not entries:
        return "was never posted"
    return "was " + ", ".join(
        f"{'taken' if e.verdict else 'refused'} in {e.verdict.state} at {e.t:.2f} s"
        for e in entries[:4]
    )


def _never(check: Check, played: Observed) -> str:
    for entry in played.entries:
        verdict = entry.verdict
        if not isinstance(verdict, Taken):
            continue
        if verdict.entered and verdict.dest == check.never:
            return f"{check.never} is entered at {entry.t:.2f} s by {entry.trigger}"
        if entry.trigger == check.never:
            return f"{check.never} is taken at {entry.t:.2f} s in {verdict.state}"
    return ""


def _tool(check: Check, played: Observed) -> str:
    runs = [f"{start:.2f} s" for name, start in played.tools if name == check.tool]
    if len(runs) == check.times or (runs and check.times is None):
        return ""
    expected = "" if check.times is None else f", not {check.times} time(s)"
    return f"the tool {check.tool} runs {len(runs)} time(s): {', '.join(runs) or 'never'}{expected}"


def _state(check: Check, played: Observed) -> str:
    state = played.state_at(check.at or 0.0)
    return (
        "" if state == check.state else f"at {check.at:g} s the turn is {state}, not {check.state}"
    )


def _history(check: Check, played: Observed) -> str:
    words = check.history or ""
    if any(words in line for line in played.lines):
        return ""
    return f"{words!r} is not in the conversation: {' | '.join(played.lines)}"


_CHECKS: dict[str, Callable[[Check, Observed], str]] = {
    "speaking": _speaking,
    "refused": _refused,
    "taken": _taken,
    "never": _never,
    "tool": _tool,
    "state": _state,
    "history": _history,
}
