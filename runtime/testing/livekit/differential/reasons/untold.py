"""Reasons why a call is not made, or the caller does not hear of its result, as on stock."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.side_by_side import LATE

from .calls import cancelled, holding
from .delays import busy, outside, spoken
from .ends import AGENT_CLOSED, DRAIN
from .moments import MOMENT, THINKS, Span, handoffs_begun
from .waits import INTERRUPTS

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.differential.plan import Plan, Sound

__all__ = [
    "cancelled_at_a_handoff",
    "cut_behind_a_cancelled_call",
    "cut_behind_the_answer",
    "ended_later_by_its_preamble",
    "given_up_at_a_handoff",
    "held_until_the_close",
    "stopped_before_it_could_be_told",
    "stopped_behind_other_results",
    "stopped_behind_the_next_agent",
    "told_after_the_close",
    "told_again_after_a_cut",
    "told_with_a_cancelled_call",
]


def _stops(pair: Pair) -> tuple[float, ...]:
    closes = () if pair.plan.ends_at is None else (pair.plan.ends_at,)
    return *pair.ours.stops, *closes


def told_after_the_close(job: int, pair: Pair) -> bool:
    """Stock told it when the close had begun, which waited there for a tool."""
    end = pair.plan.ends_at
    return end is not None and pair.stock.told.get(job, 0.0) >= end


def stopped_behind_other_results(job: int, pair: Pair) -> bool:
    """When stock told it, ours told other results first, one after the other, and was still telling
    them when somebody interrupted, if only by speaking, or closed the session."""
    told = pair.stock.told.get(job)
    others = [at for other, at in pair.ours.told.items() if other != job]
    if told is None:
        return False
    stops = [stop for stop in _stops(pair) if stop >= told]
    news = [(start, end) for start, end in _joined(pair.ours.news) if start <= told + MOMENT]
    return any(
        any(stop <= end + MOMENT for stop in stops) or (told <= end and _spoken_into(end, pair))
        for start, end in news
        if any(start <= at <= end for at in others)
    )


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Those that follow each other as soon as a model answers are one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + THINKS:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def stopped_before_it_could_be_told(job: int, pair: Pair) -> bool:
    """Somebody interrupted, or closed the session, and the model was not asked afterwards. Since
    the call had ended, there was not as much time for a reply as on stock in which nobody spoke, no
    words of the user might come, no call ran beside it or held its turn, and no agent handed over;
    but for the agent's hook, if it ran for words that came since.
    """
    told, ours = pair.stock.told.get(job), pair.ours
    before, ended = _ended(job, pair.stock), _ended(job, ours)
    if told is None or before is None or ended is None:
        return False
    due = _free(before, told, job, pair, pair.stock) + LATE
    for stop in _stops(pair):
        asked = {n: at for n, at in ours.asked.items() if at >= ended}
        if ended <= stop and all(at <= stop for at in asked.values()):
            thinks = max((pair.plan.answers[n].ttft for n in asked), default=0.0)
            hook = pair.plan.hook if _words_came(ended, stop, pair.plan) else 0.0
            if _free(ended, stop, job, pair, ours) <= due + thinks + hook:
                return True
    return False


def _words_came(start: float, end: float, plan: Plan) -> bool:
    sounds = (sound for sound in plan.sounds if sound.words)
    return any(start <= sound.over + (sound.stt_delay or 0.0) <= end for sound in sounds)


def _ended(job: int, measured: Measures) -> float | None:
    gave = (
        run for run in measured.runs if run.number == job and run.how in ("result", "ToolError")
    )
    return min((run.end for run in gave if run.end is not None), default=None)


def _free(start: float, end: float, job: int, pair: Pair, measured: Measures) -> float:
    """Seconds in which there was time for a reply about the result."""
    begun = [run.start for run in measured.runs if run.number == job]
    beside = (run for run in measured.runs if run.number != job)
    calls = [
        (run.start, inf if run.end is None else run.end)
        for run in beside
        if any(abs(run.start - at) <= MOMENT for at in begun)
    ]
    return outside((start, end), [*busy(pair, measured), *calls])


def ended_later_by_its_preamble(job: int, pair: Pair) -> bool:
    """It holds its turn and waits for its preamble, which the user cut on stock. It ended later by
    the rest of this, and the close had begun by then."""
    close, planned = pair.plan.ends_at, pair.plan.jobs[job]
    held = [run for run in holding(pair) if run.number == job and planned.waits == "playout"]
    return close is not None and any(
        abs(run.start - other.start) <= MOMENT
        and close <= run_end <= end + ours - stock + MOMENT
        and _longer(stock - planned.seconds, ours - planned.seconds, pair)
        for run, ours, run_end in _done(held)
        for other, stock, end in _done(r for r in pair.stock.runs if r.number == job)
    )


def _done(runs: Iterable[JobRun]) -> Iterator[tuple[JobRun, float, float]]:
    """Those that took effect and ended, with both moments."""
    for run in runs:
        if run.effect is not None and run.end is not None:
            yield run, run.effect, run.end


def _longer(stock: float, ours: float, pair: Pair) -> bool:
    """What ended at these moments began at the same moment on both."""
    ends = {heard.start: heard.end for heard in pair.stock.audio}
    whole = [h for h in pair.ours.audio if abs(h.end - ours) <= MOMENT and h.start in ends]
    return stock < ours and any(abs(ends[heard.start] - stock) <= MOMENT for heard in whole)


def _spoken_into(cut: float, pair: Pair) -> bool:
    """The user had just spoken for so long that this interrupts."""
    return any(sound.at <= cut <= sound.at + INTERRUPTS + MOMENT for sound in pair.plan.sounds)


def cut_behind_a_cancelled_call(job: int, pair: Pair) -> bool:
    """A call was cancelled with its turn. The user interrupted the reply that was to tell both,
    while it told that: by speaking, or with words that came then."""
    ended = [run.end for run in pair.ours.runs if run.number == job and run.end is not None]
    others = [other for other in pair.plan.jobs if other != job and cancelled(other, pair)]
    begun = [pair.ours.told[other] for other in others if other in pair.ours.told]
    first = tuple(f"t{other}a" for other in others)
    begun += [heard.start for heard in pair.ours.audio if heard.text.startswith(first)]
    return any(
        start in begun
        and any(at <= start for at in ended)
        and any(_interrupts(sound, start, end) for sound in pair.plan.sounds)
        for start, end in pair.ours.news
    )


def _interrupts(sound: Sound, start: float, cut: float) -> bool:
    """The user, or their words, begun behind `start`, were there in the moment of the cut."""
    words = sound.over + (sound.stt_delay or 0.0)
    came = bool(sound.words) and start <= words and abs(words - cut) <= MOMENT
    return came or start <= sound.at <= cut <= sound.at + INTERRUPTS + MOMENT


def cancelled_at_a_handoff(job: int, pair: Pair) -> bool:
    """It ran for longer than a handoff waits; the reply that called it may have been under way when
    the handoff was asked for."""
    taken_over = max(pair.ours.handoffs, default=-inf)
    return any(
        run.number == job
        and run.how == "CancelledError"
        and (run.end or 0.0) >= max(at, run.start) + DRAIN
        for run in pair.ours.runs
        for at in handoffs_begun(pair.plan, pair.ours)
        if run.start <= max(at, taken_over)
    )


def given_up_at_a_handoff(job: int, pair: Pair) -> bool:
    """Its policy is to be cancelled, its turn ended in a handoff that has not waited for it, and no
    run of it has given a result."""
    if pair.plan.jobs[job].policy != "cancel" or _ended(job, pair.ours) is not None:
        return False
    runs = (run for run in pair.ours.runs if run.number == job)
    return cancelled_at_a_handoff(job, pair) or any(_left(run, pair) for run in runs)


def stopped_behind_the_next_agent(job: int, pair: Pair) -> bool:
    """A handoff did not wait for the call. When it ended, the next agent greeted, and spoke until
    somebody interrupted or the session closed, but for the time in which the model thinks."""
    left = (run for run in pair.ours.runs if run.number == job and _left(run, pair))
    ends = [run.end for run in left if run.end is not None]
    return any(
        start <= end + THINKS and end <= stop <= until + MOMENT
        for end in ends
        if any(end - MOMENT <= at <= end + THINKS for at in pair.ours.handoffs)
        for start, until in _joined(spoken(pair.ours))
        for stop in _stops(pair)
    )


def _left(run: JobRun, pair: Pair) -> bool:
    """Its agent was closed while it ran, and a warning says so."""
    warned = any(text.endswith(AGENT_CLOSED) for text in pair.ours.warnings)
    begun = handoffs_begun(pair.plan, pair.ours)
    return warned and any(run.start <= at and (run.end or inf) >= at + DRAIN for at in begun)


def held_until_the_close(job: int, pair: Pair) -> bool:
    """A call held its turn from before stock put the words that ask for it to the model until the
    session closed, or its reply was heard then; and ours never put them to the model."""
    end, stock, ours = pair.plan.ends_at, _first_put(pair.stock), _first_put(pair.ours)
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs and n in stock]
    return end is not None and any(
        n not in ours
        and run.start <= stock[n]
        and end <= _replied(inf if run.end is None else run.end, pair) + MOMENT
        for n in asks
        for run in holding(pair)
    )


def _first_put(measured: Measures) -> dict[int, float]:
    """When each sentence, or what is left of it, was first put to the model."""
    return {n: put[0][0] for n, put in measured.put.items()} | dict(measured.asked)


def _replied(ended: float, pair: Pair) -> float:
    """When the reply that follows the end of a call has been heard."""
    said = _joined(spoken(pair.ours))
    return max([ended, *(until for start, until in said if start <= ended + THINKS)])


def cut_behind_the_answer(job: int, pair: Pair) -> bool:
    """Ours told it with answers to the user, behind these, and all of them were cut by the user or
    by an interruption; the model was not asked again. On stock it stood behind the user's words in
    the request, and was told instead of an answer."""
    ended = [run.end for run in pair.ours.runs if run.number == job and run.end is not None]
    own = list(pair.ours.own_answers.values())
    later = [heard for heard in pair.ours.audio if ended and heard.start >= min(ended)]
    told = [h for h in pair.stock.audio if h.start == pair.stock.told.get(job)]
    answers = re.compile(r"\br\d")
    return (
        any(not answers.search(heard.text) for heard in told)
        and all((heard.start, heard.end) in own and _cut(heard.end, pair) for heard in later)
        and bool(later)
        and any(asked >= later[-1].end for asked in pair.ours.asked.values())
        and bool(pair.ours.stops)
        and pair.ours.stops[-1] >= max(pair.ours.asked.values())
    )


def _cut(end: float, pair: Pair) -> bool:
    over = INTERRUPTS + MOMENT
    user = any(sound.at <= end <= max(sound.over, sound.at + over) for sound in pair.plan.sounds)
    return user or any(abs(stop - end) <= MOMENT for stop in pair.ours.stops)


def told_with_a_cancelled_call(job: int, pair: Pair) -> bool:
    """It had ended when somebody interrupted its turn, which is not answered then; nothing was
    heard afterwards. On stock it was told with the result of a call of the same turn, which ours
    cancelled with the turn."""
    runs = [run for run in pair.ours.runs if run.number == job and run.end is not None]
    others = [
        run
        for run in pair.ours.runs
        if run.number != job and cancelled(run.number, pair)
        if run.how == "CancelledError" and run.end is not None
    ]
    told = pair.stock.told.get(job)
    return told is not None and any(
        abs(run.start - other.start) <= MOMENT
        and (run.end or inf) <= (other.end or inf)
        and pair.stock.told.get(other.number) == told
        and not any(heard.start > (other.end or inf) for heard in pair.ours.audio)
        for run in runs
        for other in others
    )


def told_again_after_a_cut(about: int, pair: Pair) -> bool:
    """What begins again and again are results that somebody has interrupted; none is heard to its
    end more often than its call ran."""
    ran = Counter(f"t{run.number}a" for run in pair.ours.runs)
    stock = pair.stock.repeats
    again = [
        (text, ran[text.split()[0]])
        for text, count in pair.ours.repeats.items()
        if count > max(2, stock.get(text, 0) + 1, ran[text.split()[0]])
    ]
    return bool(again) and all(
        runs > 0 and sum(line.count(text) for line in pair.ours.heard) <= runs
        for text, runs in again
    )
