"""Reasons about an answer that is the result of a call."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.side_by_side import LATE

from .moments import MOMENT, THINKS

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = ["answered_by_an_earlier_call"]


def answered_by_an_earlier_call(sentence: int, pair: Pair) -> bool:
    """On stock the result of an earlier sentence's call was heard first. On ours that call was
    cancelled with its turn. Both made the call for this sentence at the same time, and ours tells
    its result as soon as it has ended."""
    ours, over = pair.ours.latency.get(sentence), pair.plan.sounds[sentence - 1].over
    put = pair.stock.asked.get(sentence, inf)
    told = re.findall(r"\bt([1-9]\d*)a", pair.stock.answered_with.get(sentence, ""))
    for job in {int(number) for number in told} & {*pair.plan.answers[sentence].jobs}:
        earlier = [run for run in pair.stock.runs if run.number == job and run.start < put]
        own = [run for run in pair.stock.runs if run.number == job and run.start >= put]
        ended = [run.end for run in pair.ours.runs if run.end is not None and _same(run, own)]
        if earlier and ended and job in pair.ours.cut and ours is not None:
            return over + ours <= ended[0] + THINKS + LATE
    return False


def _same(run: JobRun, others: list[JobRun]) -> bool:
    """It began when one of these did, on the other session."""
    return any(run.number == o.number and abs(run.start - o.start) <= MOMENT for o in others)
