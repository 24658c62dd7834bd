"""Plays many plans on all cores, and reports what was worse."""

from __future__ import annotations

import logging
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import attrs

from .pair import Pair, play_pair
from .plan import Plan, shrunk
from .worse import Worse, worse

__all__ = ["Judged", "judge_plan", "judge_plans", "shrink"]


@attrs.frozen
class Judged:
    """A plan and what was worse in it.

    Attributes:
        plan: The conversation.
        worse: What is worse on the session that is judged.
        explained: What is worse there, and explained by the table of differences.
        on_stock: What is worse on `AgentSession`, by the same measures.
        seconds: Of work on a core.
    """

    plan: Plan
    worse: tuple[Worse, ...]
    explained: tuple[Worse, ...]
    on_stock: tuple[Worse, ...]
    seconds: float


def judge_plan(plan: Plan, session_class: Any, *, declared: bool = True) -> Judged:
    """Play it on both sessions and compare."""
    begun = time.process_time()
    pair = play_pair(plan, session_class)
    every, found = worse(pair, declared=False), worse(pair, declared=declared)
    explained = tuple(w for w in every if w not in found)
    on_stock = tuple(worse(Pair(plan, pair.ours, pair.stock), declared=False))
    return Judged(plan, tuple(found), explained, on_stock, time.process_time() - begun)


def judge_plans(
    plans: Iterable[Plan], session_class: Any, *, jobs: int = 1, declared: bool = True
) -> Iterator[Judged]:
    """The plans, each as soon as it has been played, in any order.

    Args:
        plans: May be endless: only a few are taken in advance.
        session_class: What is compared with `AgentSession`; a name in a module, for processes.
        jobs: How many processes play.
        declared: Leave out what the table of differences explains.
    """
    judge = partial(judge_plan, session_class=session_class, declared=declared)
    if jobs == 1:
        yield from map(judge, plans)
        return
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, _quiet, maxtasksperchild=200) as pool:
        for batch in _batches(plans, 16 * jobs):
            yield from pool.imap_unordered(judge, batch)


def shrink(plan: Plan, still: Callable[[Plan], bool]) -> Plan:
    """The simplest plan like this one that is still wrong."""
    while (simpler := next((p for p in shrunk(plan) if still(p)), None)) is not None:
        plan = simpler
    return plan


def _quiet() -> None:
    """What LiveKit logs is a measure, not output."""
    logging.lastResort = None
    warnings.simplefilter("ignore")


def _batches(plans: Iterable[Plan], size: int) -> Iterator[list[Plan]]:
    batch: list[Plan] = []
    for plan in plans:
        batch.append(plan)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
