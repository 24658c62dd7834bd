"""A tool returned an agent, and the session did not hand over to it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = ["handoff_was_refused", "its_handoff_was_refused"]

FINISH_LIMIT = 5.0
"""Seconds for which a turn that waits lets a call with the policy finish continue."""

PREAMBLE = 3.0
"""Seconds before a call in which its turn may be interrupted, as the preamble is heard."""

INTERRUPTING = ("interrupt", "force", "commit", "chat", "update_agent")
"""What the application does that may interrupt a turn."""


def handoff_was_refused(about: int, pair: Pair) -> bool:
    """No call could hand over: each returned its agent in a turn that was interrupted, as its
    output says, or beside another one that did, or it failed."""
    jobs = pair.plan.jobs
    runs = [run for run in pair.ours.runs if jobs[run.number].ends == "hands_off"]
    return bool(runs) and all(
        run.how != "result" or _was_refused(run, pair) or _beside_another(run, runs) for run in runs
    )


def its_handoff_was_refused(job: int, pair: Pair) -> bool:
    """The job's only result is that its handoff did not happen."""
    return any(run.number == job and _was_refused(run, pair) for run in pair.ours.runs)


def _was_refused(run: JobRun, pair: Pair) -> bool:
    return run.number in pair.ours.refused and _interrupted(run, pair)


def _interrupted(run: JobRun, pair: Pair) -> bool:
    """Something has interrupted its turn that may do so under its policy."""
    begun, end = run.start - PREAMBLE, run.end or inf
    policy = pair.plan.jobs[run.number].policy
    if policy in ("hold", "finish"):
        forced = any(m.what == "force" and begun <= m.at <= end for m in pair.plan.moves)
        return forced or (policy == "finish" and end - run.start > FINISH_LIMIT)
    moved = any(m.what in INTERRUPTING and begun <= m.at < end for m in pair.plan.moves)
    stopped = any(begun <= at < end for at in pair.ours.stops)
    return moved or stopped or any(s.at < end and s.over > begun for s in pair.plan.sounds)


def _beside_another(run: JobRun, runs: list[JobRun]) -> bool:
    """LiveKit hands over to nobody if two calls of a step return an agent."""
    return any(other is not run and other.start == run.start for other in runs)
