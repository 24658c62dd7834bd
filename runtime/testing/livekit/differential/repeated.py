"""What the caller hears too often, or in too many pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import attrs

from turnfsm.runtime.testing.livekit import side_by_side
from turnfsm.runtime.testing.livekit.side_by_side import Found

from .agents import GREETING
from .jobs import FILLER_INTERVAL, Job
from .measures import Measures
from .pair import Pair

__all__ = ["again", "chopped"]

SAYS = {"says": "s", "replies": "g"}
"""How the text of a tool begins that says something, or asks for a reply."""


def again(pair: Pair) -> Found:
    """A sentence that begins more often than it is due."""
    due = _due(pair.ours, pair.plan.jobs)
    stock = {text.split()[0]: count for text, count in pair.stock.repeats.items()}
    for text, count in pair.ours.repeats.items():
        first = text.split()[0]
        before = stock.get(first, 0)  # perhaps before other words than on ours
        if count > due[first] and count > before + 1 and count > 2:
            yield 0, f"{text!r} begins {count} times, on stock {before}"


def _due(measured: Measures, jobs: Mapping[int, Job]) -> Counter[str]:
    """How often a text may be said, by its first word: the result of each call, and that again by
    the next agent, which does not see what the one before says in the handoff; each greeting; what
    a call says while it runs. One with `ctx.update()` is told twice, and LiveKit asks twice, also
    if there is nothing new. So does a session about a second run of a job, which gives the same.
    What a call asks for while a reply is heard is asked for without that, and may tell the same."""
    agents = len(measured.handoffs)
    reports = Counter(r.number for r in measured.runs if jobs[r.number].waits == "updates")
    due = Counter(f"t{run.number}a" for run in measured.runs)
    due.update(dict.fromkeys(list(due), agents) | {GREETING: agents})
    due.update({f"t{number}a": count for number, count in reports.items()})
    due["t0a"] += 2 * reports.total() + sum(n - 1 for n in _times_run(measured).values())
    for run in measured.runs:
        if jobs[run.number].waits == "replies":
            due.update(_next_heard(measured, run.effect))
        due[f"{SAYS.get(jobs[run.number].waits, '-')}{run.number}a"] += 1
        due[f"f{run.number}a"] += int(((run.end or run.start) - run.start) / FILLER_INTERVAL) + 1
    return due


def _times_run(measured: Measures) -> Counter[int]:
    return Counter(run.number for run in measured.runs)


def _next_heard(measured: Measures, at: float | None) -> list[str]:
    """The first word of each sentence of the reply that was heard then, or next."""
    audio = sorted(measured.audio, key=lambda heard: heard.start)
    later = (heard for heard in audio if at is not None and heard.end > at and heard.text)
    words = next((heard.text.split() for heard in later), [])
    return [word for before, word in pairwise([".", *words]) if before.endswith(".")]


def chopped(pair: Pair) -> Found:
    """The same as for any two sessions, but for fillers of calls that stock has not made."""
    more = max(0, _fillers(pair.ours, pair.plan.jobs) - _fillers(pair.stock, pair.plan.jobs))
    without = attrs.evolve(pair.ours, stretches=pair.ours.stretches - more)
    yield from side_by_side.MEASURES["chopped"](attrs.evolve(pair, ours=without))


def _fillers(measured: Measures, jobs: Mapping[int, Job]) -> int:
    """How many were heard, but for those that came too often."""
    due = _due(measured, jobs)
    heard = Counter(h.text.split()[0] for h in measured.audio if h.text)
    return sum(min(count, due[first]) for first, count in heard.items() if first[0] == "f")
