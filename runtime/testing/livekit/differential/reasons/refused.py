"""A tool returned an agent, and the session did not hand over to it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from .moments import MOMENT, has_untold_results
from .waits import VAD_SILENCE

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.speaker import Heard

__all__ = ["handoff_was_refused", "its_handoff_was_refused"]

FINISH_LIMIT = 5.0
"""Seconds for which a turn that waits lets a call with the policy finish continue."""

PREAMBLE = 3.0
"""Seconds before a call in which its turn may be interrupted, as the preamble is heard."""

BEGINS = 0.5
"""Seconds from a call that the model makes until its preamble begins."""

INTERRUPTING = ("interrupt", "force", "commit", "chat", "update_agent")
"""What the application does that may interrupt a turn."""


def handoff_was_refused(about: int, pair: Pair) -> bool:
    """No call could hand over: each returned its agent in a turn that was interrupted, as its
    output says, or beside another one that did, or it failed. One that has called `ctx.update()`
    hands over on no session."""
    jobs = pair.plan.jobs
    runs = [run for run in pair.ours.runs if jobs[run.number].ends == "hands_off"]
    runs = [run for run in runs if jobs[run.number].waits != "updates"]
    return bool(runs) and all(
        run.how != "result" or _was_refused(run, pair) or _beside_another(run, runs) for run in runs
    )


def its_handoff_was_refused(job: int, pair: Pair) -> bool:
    """The job's only result is that its handoff did not happen."""
    return any(run.number == job and _was_refused(run, pair) for run in pair.ours.runs)


def _was_refused(run: JobRun, pair: Pair) -> bool:
    return run.number in pair.ours.refused and _interrupted(run, pair)


def _interrupted(run: JobRun, pair: Pair) -> bool:
    """Something has interrupted its turn that may do so under its policy, before LiveKit would have
    handed over: when all calls of the step had ended."""
    begun = run.start - PREAMBLE
    beside = [_would_end(r, pair) for r in pair.ours.runs if r.start == run.start]
    step = max([*beside, *(h.end for h in _preamble_left(run, pair))])
    if _cuts_its_preamble(run, pair) or any(
        _interrupts(r, run, step, pair) for r in pair.ours.runs
    ):
        return True
    if any(move.what == "force" and begun <= move.at <= step for move in pair.plan.moves):
        return True
    if _words_cut_its_preamble(run, pair) or _words_came_as_it_began(run, pair):
        return True
    if _held_until(run, pair) >= step and not _preamble_left(run, pair):
        return all(_takes_too_long(other, pair) for other in _holding_last(run, pair))
    moved = any(m.what in INTERRUPTING and begun <= m.at <= step for m in pair.plan.moves)
    moved |= begun <= (pair.plan.ends_at or inf) <= step
    asks = {n for n, answer in pair.plan.answers.items() if run.number in answer.jobs}
    return moved or any(
        sound.at < step and sound.over > begun
        for number, sound in enumerate(pair.plan.sounds, 1)
        if not (number in asks and sound.words and _is_answered(number, run, pair))
    )


def _would_end(run: JobRun, pair: Pair) -> float:
    """When it has ended, or would have, had it not been cancelled with its turn, or what it says
    been interrupted with it."""
    job, end = pair.plan.jobs[run.number], run.end or inf
    if job.waits == "says":
        took = [r.end - r.start for r in pair.stock.runs if r.number == run.number and r.end]
        return max(end, run.start + max(took, default=0.0))
    if run.how != "CancelledError":
        return end
    return max(end, run.start + job.seconds + (job.after or 0.0))


def _held_until(run: JobRun, pair: Pair) -> float:
    """When the last call of its step has ended that keeps the turn from being interrupted."""
    return max((other.end or inf for other in _holding_last(run, pair)), default=0.0)


def _holding_last(run: JobRun, pair: Pair) -> list[JobRun]:
    """The calls of its step that keep the turn from being interrupted, and end last. One that calls
    `ctx.update()` does so at once, and keeps it no longer."""
    step = [other for other in pair.ours.runs if other.start == run.start]
    jobs = [(r, pair.plan.jobs[r.number]) for r in step]
    holds = [r for r, job in jobs if job.policy in ("hold", "finish") and job.waits != "updates"]
    last = max((other.end or inf for other in holds), default=0.0)
    return [other for other in holds if (other.end or inf) >= last]


def _takes_too_long(run: JobRun, pair: Pair) -> bool:
    """Its turn may be interrupted although it has not finished."""
    length = (run.end or inf) - run.start
    return pair.plan.jobs[run.number].policy == "finish" and length > FINISH_LIMIT


def _is_answered(sentence: int, run: JobRun, pair: Pair) -> bool:
    """The call may be made in answer to it."""
    sound, asked = pair.plan.sounds[sentence - 1], pair.ours.asked.get(sentence)
    return sound.at < run.start and (asked is None or asked <= run.start)


def _preamble_left(run: JobRun, pair: Pair) -> list[Heard]:
    """When the call ended, or the last that held its turn, its preamble was heard, or about to be.
    Then the turn is held no more, and LiveKit hands over to nobody if it is interrupted."""
    end = max(run.end or inf, _held_until(run, pair))
    return [h for h in pair.ours.audio if h.start <= end + BEGINS and h.end >= end]


def _words_cut_its_preamble(run: JobRun, pair: Pair) -> bool:
    """The call ended while the preamble was kept back, as the user spoke or their words might come;
    they came, and nothing of it was heard."""
    end = run.end or inf
    asks = [
        n
        for n, answer in pair.plan.answers.items()
        if run.number in answer.jobs
        and (answer.words or has_untold_results(pair.ours.asked.get(n, inf), pair))
    ]
    kept_back = any(
        asked <= run.start
        and not any(h.text.startswith(f"r{n}a") and h.end >= asked for h in pair.ours.audio)
        for n, asked in pair.ours.asked.items()
        if n in asks
    )
    words = [s for s in pair.plan.sounds if s.words and s.stt_delay is not None]
    waits = [(s.at, s.over + max(VAD_SILENCE, s.stt_delay or 0.0)) for s in words]
    return kept_back and any(start <= end <= until for start, until in waits)


def _words_came_as_it_began(run: JobRun, pair: Pair) -> bool:
    """Of another voice than the one that it answers: they interrupted the turn before it could
    hold it."""
    words = [s for s in pair.plan.sounds if s.words and s.stt_delay is not None]
    return any(abs(s.over + (s.stt_delay or 0.0) - run.start) <= MOMENT for s in words)


def _cuts_its_preamble(run: JobRun, pair: Pair) -> bool:
    """The tool interrupts its own turn before the preamble was heard to its end: then LiveKit hands
    over to nobody, and says so itself. It does if the step is over."""
    said = run.number in pair.ours.refused_by_livekit
    return said and pair.plan.jobs[run.number].waits == "interrupts"


def _interrupts(other: JobRun, run: JobRun, step: float, pair: Pair) -> bool:
    """Another tool interrupts the turn as its call ends. LiveKit hands over when the step has
    ended: when all its calls have, and its preamble was heard."""
    if other is run or other.end is None or pair.plan.jobs[other.number].waits != "interrupts":
        return False
    return run.start <= other.end and (other.start == run.start or other.end <= step)


def _beside_another(run: JobRun, runs: list[JobRun]) -> bool:
    """LiveKit hands over to nobody if two calls of a step return an agent."""
    return any(other is not run and other.start == run.start for other in runs)
