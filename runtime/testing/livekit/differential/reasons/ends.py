"""Reasons about the end of a session or of an agent."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from .delays import outside, spoken
from .moments import MOMENT, answered_more, handoffs_begun, takes_more
from .waits import waited_for_quiet, waits_for_a_call

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
    "ended_while_it_waited",
    "skipped_before_the_next_agent",
]

DRAIN = 4.9
"""Seconds; a handoff lets go of a call after `drain_limit`."""

GREETING = 0.9
"""Seconds that the next agent's greeting takes, and the model until it tells the result."""

AGENT_CLOSED = "did not end in time; its agent is closed"

JUST = 2.0
"""Seconds before the close in which a call has just begun."""


def asked_of_a_close(number: int, pair: Pair) -> bool:
    """The application had closed the session before, or closed it during a run."""
    end, move = pair.plan.ends_at, pair.plan.moves[number]
    if end is None or number not in pair.ours.raised:
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


def ended_while_it_waited(job: int, pair: Pair) -> bool:
    """The session closed while the user's words, or a reply, waited for a call that holds its turn,
    or for a quiet user, or somebody interrupted such a reply; on stock the call had just begun."""
    begun = [run.start for run in pair.stock.runs if run.number == job]
    if not begun:
        return False
    asks = [n for n, a in pair.plan.answers.items() if job in a.jobs]
    closes = [] if pair.plan.ends_at is None else [pair.plan.ends_at]
    ends = [*closes, *pair.ours.stops] if waited_for_quiet(pair) else closes
    waited = waited_for_quiet(pair) or any(waits_for_a_call(n, pair) for n in asks)
    return waited and any(0.0 <= end - begun[0] <= JUST for end in ends)


def begun_after_the_close(job: int, pair: Pair) -> bool:
    """On stock, whose close had yet to wait for another tool."""
    end = pair.plan.ends_at
    begun = [run.start for run in pair.stock.runs if run.number == job]
    return end is not None and bool(begun) and min(begun) >= end


def answered_after_the_close(sentence: int, pair: Pair) -> bool:
    """Nobody had answered it when the application closed the session. Stock's close waited for a
    call, and the agent was heard meanwhile."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    end = pair.plan.ends_at
    if end is None or stock is None or ours is not None:
        return False
    waits = any(run.start <= end < (run.end or inf) for run in pair.stock.runs)
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


def skipped_before_the_next_agent(about: int, pair: Pair) -> bool:
    """A realtime model answered while a handoff waited for what the agent says, and LiveKit skips
    this. Stock, which had talked into the user, has handed over before: the next agent's model had
    not heard the words, and nobody answered them either."""
    plan, warned = pair.plan, [*pair.ours.warnings][about]
    handoffs = any(move.what == "update_agent" for move in plan.moves) or any(
        plan.jobs[run.number].ends == "hands_off" for run in pair.ours.runs
    )
    ours, stock = pair.ours.latency, pair.stock.latency
    only_on_stock = [
        n for n, latency in stock.items() if latency is not None and ours.get(n) is None
    ]
    return (
        warned.startswith("skipping new realtime generation")
        and handoffs
        and waited_for_quiet(pair)
        and any(s.words and stock.get(n) is None for n, s in enumerate(plan.sounds, 1))
        and not only_on_stock
    )


def told_after_the_greeting(sentence: int, pair: Pair) -> bool:
    """An agent that hands over did not wait for a call that the sentence had asked for. Its result
    was told behind the greeting of the next agent, and is later by no more than this takes; on
    stock that agent had begun behind the result."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    if ours is None or stock is None:
        return False
    jobs = pair.plan.answers[sentence].jobs
    long = any(
        run.number in jobs and (run.end is None or run.end > run.start + DRAIN)
        for run in pair.ours.runs
    )
    closed = any(text.endswith(AGENT_CLOSED) for text in pair.ours.warnings)
    return closed and long and ours - stock <= GREETING
