"""Moments and lengths of time that several reasons look at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.differential.plan import Plan

__all__ = [
    "ANSWER",
    "COMMIT",
    "ENDPOINTING",
    "MOMENT",
    "THINKS",
    "Span",
    "announced",
    "answered_more",
    "asked_in_use",
    "committed",
    "handoffs_begun",
    "has_untold_results",
    "interrupted",
    "takes_more",
    "thinks",
]

Span = tuple[float, float]
"""From one moment to another."""

ANSWER = 0.5
"""Seconds that an answer is heard; one that is cut earlier does not count."""

COMMIT = 1.0
"""Seconds in which a commit of the application waits for words."""

ENDPOINTING = 0.5
"""Seconds that LiveKit waits for more words; it waits anew after a turn that was committed."""

MOMENT = 0.1
"""Seconds: a frame of the microphone and one of the model."""

THINKS = 0.4
"""Seconds until the model has answered a result, and this is heard."""


def handoffs_begun(plan: Plan, measured: Measures) -> list[float]:
    """When the application called `update_agent`, and when calls that hand over had ended. One that
    says itself that its handoff did not happen has begun none, unless it was made again."""
    made = Counter(run.number for run in measured.runs)
    refused = {number for number in measured.refused if made[number] == 1}
    hand_over = [run for run in measured.runs if plan.jobs[run.number].ends == "hands_off"]
    calls = [run.end for run in hand_over if run.number not in refused]
    moves = [move.at for move in plan.moves if move.what == "update_agent"]
    return [*moves, *(end for end in calls if end is not None)]


def interrupted(run: JobRun, pair: Pair) -> bool:
    """A tool has interrupted."""
    over = run.how in ("result", "ToolError")  # it is refused with a RuntimeError
    return pair.plan.jobs[run.number].waits == "interrupts" and over


def has_untold_results(at: float, pair: Pair) -> bool:
    """A call had ended by then whose result ours had not told: the model is to tell it besides."""
    gave = (r for r in pair.ours.runs if r.how in ("result", "ToolError") and r.end is not None)
    return any((r.end or inf) <= at <= pair.ours.told.get(r.number, inf) for r in gave)


def answered_more(pair: Pair) -> Mapping[int, tuple[float, ...]]:
    """Sentences that only ours had answered, and when it asked the model. On stock they were lost,
    or something stood behind them in the request, and the model answered that; or nothing of the
    answer was heard."""
    on_stock = {n for n, asked in pair.stock.put.items() if any(whole for _, whole in asked)}
    ours = {n: tuple(at for at, _ in asked) for n, asked in pair.ours.put.items()}
    whole = {n for n, asked in pair.ours.put.items() if any(done for _, done in asked)}
    more = (whole - on_stock) | (pair.stock.words_lost - pair.ours.words_lost)
    more |= whole & (pair.ours.own_answers.keys() - pair.stock.own_answers.keys())
    return {n: ours[n] for n in more if n in ours}


def takes_more(pair: Pair) -> Iterator[Span]:
    """In which the model thinks about these, or a call runs for which they asked."""
    for number, asked in answered_more(pair).items():
        answer = pair.plan.answers.get(number)
        if answer is not None:
            yield from ((at, at + answer.ttft + MOMENT) for at in asked)
            for run in pair.ours.runs:
                if run.number in answer.jobs and run.start >= min(asked):
                    yield run.start, run.end or inf


def announced(plan: Plan, measured: Measures) -> Iterator[Span]:
    """When was said what the application wants said to its end; the TTS takes a moment."""
    numbers = (n for n, move in enumerate(plan.moves) if move.what == "say_on")
    for first in (rf"\by{number}a" for number in numbers):
        for heard in measured.audio:
            if re.search(first, heard.text):
                yield heard.start - MOMENT, heard.end


def committed(pair: Pair) -> Iterator[tuple[float, float]]:
    """When words were committed, and when their sound was over."""
    for number, at in pair.ours.asked.items():
        if number in pair.plan.answers:
            yield at - pair.plan.hook, pair.plan.sounds[number - 1].over


def asked_in_use(sentence: int, pair: Pair) -> float:
    """When stock asked the model about it. If it asks ahead, it may drop that and ask again."""
    asked = pair.stock.asked.get(sentence, inf)
    if not pair.plan.settings.get("preemptive_generation", {}).get("enabled"):
        return asked
    outdated = [at for at, _ in pair.stock.outdated]
    put = [(at, whole) for at, whole in pair.stock.put.get(sentence, ()) if at not in outdated]
    whole = [at for at, whole in put if whole]
    again = [at for at, _ in put[:1] if asked in outdated]
    return max([asked, *whole, *again])


def thinks(pair: Pair) -> Iterator[Span]:
    """In which the model thinks, on ours, about what the user has said."""
    for number, asked in pair.ours.put.items():
        if number in pair.plan.answers:
            ttft = pair.plan.answers[number].ttft
            yield from ((at, at + ttft + MOMENT) for at, _ in asked)
