"""Reasons about the end of a session or of an agent."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from .delays import outside, spoken
from .moments import MOMENT, answered_more, handoffs_begun, takes_more

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = [
    "agent_did_not_wait",
    "answered_after_the_close",
    "asked_of_a_close",
    "begun_after_the_close",
    "call_of_a_turn_more_hangs",
    "cancelled_at_the_close",
    "close_waits_for_a_call",
    "closed_before_the_handoff",
]

DRAIN = 4.9
"""Seconds; a handoff lets go of a call after `drain_limit`."""

AGENT_CLOSED = "did not end in time; its agent is closed"


def asked_of_a_close(number: int, pair: Pair) -> bool:
    """The session was closed before, or during a run; if not by the application, at the end."""
    end, move = pair.plan.ends_at or pair.plan.seconds, pair.plan.moves[number]
    if number not in pair.ours.raised:
        return False
    over = round(move.at + (pair.stock.waits.get(number) or 0.0), 3)
    return move.at >= end or (move.what == "run" and over >= end)


def cancelled_at_the_close(job: int, pair: Pair) -> bool:
    """It was given five seconds from the close on."""
    end = pair.plan.ends_at
    return end is not None and any(
        run.number == job and run.how == "CancelledError" and (run.end or 0.0) > end + 4.9
        for run in pair.ours.runs
    )


def begun_after_the_close(job: int, pair: Pair) -> bool:
    """On stock, whose close had yet to wait for another tool."""
    end = pair.plan.ends_at
    begun = [run.start for run in pair.stock.runs if run.number == job]
    return end is not None and bool(begun) and min(begun) >= end


def answered_after_the_close(sentence: int, pair: Pair) -> bool:
    """Nobody had answered it when the application closed the session. Stock's close waited for a
    call, or it asked the model for the user's last words, and the agent was heard meanwhile."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    end = pair.plan.ends_at
    if end is None or stock is None or ours is not None:
        return False
    waits = any(run.start <= end < (run.end or inf) for run in pair.stock.runs)
    waits |= any(at >= end for at in pair.stock.asked.values())
    return waits and pair.plan.sounds[sentence - 1].over + stock >= end


def close_waits_for_a_call(number: int, pair: Pair) -> bool:
    """The close took as long as a call that must not be interrupted."""
    move, waits = pair.plan.moves[number], pair.ours.waits.get(number)
    ends = [run.end for run in pair.ours.runs if pair.plan.jobs[run.number].policy == "hold"]
    closed = None if waits is None else move.at + waits
    return move.what == "aclose" and any(
        closed is not None and end is not None and abs(end - closed) < 0.06 for end in ends
    )


def call_of_a_turn_more_hangs(about: int, pair: Pair) -> bool:
    """A call that must not be interrupted never ends, and the close waits for it until
    `tool_limit`. Stock has not made it: it has lost the words that ask for it."""
    made = {run.number for run in pair.stock.runs}
    more = pair.stock.words_lost - pair.ours.words_lost
    asked = {job for n in more for job in pair.plan.answers[n].jobs}
    return any(
        pair.plan.jobs[run.number].ends == "hangs"
        and pair.plan.jobs[run.number].policy == "hold"
        and run.number in asked - made
        for run in pair.ours.runs
    )


def closed_before_the_handoff(about: int, pair: Pair) -> bool:
    """From when stock handed over until the session closed, the agent spoke, or the model thought:
    it answered words of the user behind which stock had put something else."""
    end = pair.plan.ends_at
    if end is None or not pair.stock.handoffs or not answered_more(pair):
        return False
    causes = [*spoken(pair.ours), *takes_more(pair)]
    return outside((pair.stock.handoffs[-1], end), causes) <= MOMENT


def agent_did_not_wait(about: int, pair: Pair) -> bool:
    """An agent that hands over has a call that takes longer; ours says that it goes without it."""
    long = any(
        run.end is None or run.end > max(run.start, at) + DRAIN
        for run in pair.ours.runs
        for at in handoffs_begun(pair.plan, pair.ours)
    )
    return long and [*pair.ours.warnings][about].endswith(AGENT_CLOSED)
