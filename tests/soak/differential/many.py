"""Plays many scripts on both sessions, on all cores, and judges them."""

from __future__ import annotations

import logging
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import attrs
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession

from .agree import disagreements
from .facts import Finding
from .hard import hard_findings
from .play import Played, play
from .rates import seen
from .script import Script, simpler
from .silence import silent_findings

__all__ = ["Judged", "findings", "judge", "judge_all", "shrink"]


@attrs.frozen
class Judged:
    """A script and what was found.

    Attributes:
        found: On the session that is judged, and where the two differ although they must not.
        stock, ours: What happened on each of them that is counted in the rates.
        seconds: Of work on a core.
    """

    script: Script
    found: tuple[Finding, ...]
    stock: frozenset[str]
    ours: frozenset[str]
    seconds: float


def findings(played: Played) -> tuple[Finding, ...]:
    """What is wrong, by the measures that need no other session."""
    return (*hard_findings(played), *silent_findings(played))


def judge(script: Script, session_class: Any = TurnSession) -> Judged:
    """Play it on `AgentSession` and on the session that is judged."""
    begun = time.process_time()
    stock, ours = play(script, AgentSession), play(script, session_class)
    found, before = findings(ours), findings(stock)
    if not script.switches:
        found += tuple(disagreements(stock, ours))
    spent = time.process_time() - begun
    return Judged(script, found, seen(stock, before), seen(ours, found), spent)


def judge_all(
    scripts: Iterable[Script], *, jobs: int = 1, session_class: Any = TurnSession
) -> Iterator[Judged]:
    """The scripts, which may be without end, each as soon as it has been played."""
    work = partial(judge, session_class=session_class)
    if jobs == 1:
        yield from map(work, scripts)
        return
    scripts = iter(scripts)
    with multiprocessing.get_context("fork").Pool(jobs, _quiet, maxtasksperchild=200) as pool:
        while batch := list(islice(scripts, 16 * jobs)):
            yield from pool.imap_unordered(work, batch)


def shrink(script: Script, still: Callable[[Script], bool]) -> Script:
    """The simplest script like this one that is still wrong."""
    while (simple := next((s for s in simpler(script) if still(s)), None)) is not None:
        script = simple
    return script


def _quiet() -> None:
    """What LiveKit logs is looked at, not printed."""
    logging.lastResort = None
    warnings.simplefilter("ignore")
