"""Measures of the calls of a conversation: effects, results, what the model reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.scripted_llm import Request

from .agents import sentence_answered, words_answered, words_asked
from .jobs import JobRun, Jobs
from .plan import Plan

__all__ = [
    "brought",
    "cut",
    "cut_with_its_agent",
    "halves",
    "lies",
    "lost",
    "not_handed_over",
    "repeated",
    "scripted",
    "unseen",
    "wanted",
]

NONE: frozenset[int] = frozenset()

NOT_DONE = "nothing was done"

CANCELLED_WITH_TURN = "cancelled: its turn was interrupted before it had ended"

NOT_HANDED_OVER = re.compile("handoff (was interrupted and )?did not happen")
CUT_BY_LIVEKIT = re.compile("handoff was interrupted and did not happen")

TWO_AGENTS = "expected to receive only one {} from the tool executions"
"""LiveKit calls it `AgentTask` with a pipeline, and `Agent` with a realtime model."""

REPORTED_AGENT = (
    "returned an Agent after ctx.update(); agent handoff after a progress update is not supported"
)


def wanted(plan: Plan, jobs: Jobs, outcome: Outcome) -> dict[int, int]:
    """A reply that was prepared in vain has asked for nothing: no call follows."""
    wanted = dict.fromkeys(plan.jobs, 0)
    for job, at in _asks(plan, outcome):
        wanted[job] += any(run.number == job and run.start >= at for run in jobs.runs)
    return wanted


def repeated(plan: Plan, jobs: Jobs, outcome: Outcome) -> Iterator[JobRun]:
    """Runs that nobody has asked for: the model did not see what had come of the ones before."""
    asks = list(_asks(plan, outcome))
    for job in plan.jobs:
        runs = sorted((run.start, i) for i, run in enumerate(jobs.runs) if run.number == job)
        for before, (start, i) in enumerate(runs):
            if before >= sum(asked == job and at <= start for asked, at in asks):
                yield jobs.runs[i]


def _asks(plan: Plan, outcome: Outcome) -> Iterator[tuple[int, float]]:
    """Jobs for which the model was asked, and when. If a sentence was committed in parts, each part
    asks for all its jobs; so do the words of an earlier one that come after it. A request that was
    made ahead asks for none if its words were committed with a later sentence."""
    put: list[tuple[int, frozenset[str]]] = []
    for place, request in enumerate(outcome.requests, 1):
        number, words = sentence_answered(request), words_answered(request)
        if any(number == other and words & known for other, known in put):
            continue
        put.append((number, words))
        later = outcome.requests[place:]
        if words and any(words <= words_asked(r) and number < sentence_answered(r) for r in later):
            continue
        for job in set(plan.answers[number].jobs if number in plan.answers else ()):
            yield job, request.at


def _result(n: int, run: JobRun) -> str:
    return f"failed{n}" if run.how == "ToolError" else f"done{n}"


def _speaks(plan: Plan, run: JobRun) -> bool:
    """The run ended with a text that names it."""
    job = plan.jobs[run.number]
    if run.how == "ToolError":
        return job.ends == "raises"
    # LiveKit drops what is returned with an agent after `ctx.update()`, and logs this.
    gives = job.ends == "returns" or (job.ends == "hands_off" and job.waits != "updates")
    return run.how == "result" and gives


def halves(plan: Plan, jobs: Jobs, end: float) -> Iterator[int]:
    for run in jobs.runs:
        after = plan.jobs[run.number].after
        if after is None or run.effect is None or run.second is not None:
            continue
        if run.effect + after < end:
            yield run.number


def lost(plan: Plan, jobs: Jobs, outcome: Outcome, end: float) -> Iterator[int]:
    outputs = [i.output for i in outcome.history.items if i.type == "function_call_output"]
    for run in jobs.runs:
        if run.end is None or run.end > end - 1.0 or not _speaks(plan, run):
            continue
        if not any(re.search(rf"{_result(run.number, run)}\b", output) for output in outputs):
            yield run.number


def unseen(plan: Plan, jobs: Jobs, outcome: Outcome) -> dict[int, float]:
    since: dict[int, float] = {}
    for request in outcome.requests:
        shown = " ".join(entry.text for entry in request.shown if entry.kind == "result")
        for run in jobs.runs:
            ended = run.end is not None and run.end < request.at - 0.1 and _speaks(plan, run)
            if ended and not re.search(rf"{_result(run.number, run)}\b", shown):
                since.setdefault(run.number, request.at)
    return since


def cut(outcome: Outcome) -> Iterator[int]:
    items = outcome.history.items
    calls = {item.call_id: item for item in items if item.type == "function_call"}
    for item in items:
        if item.type == "function_call_output" and item.output == CANCELLED_WITH_TURN:
            yield _number(calls[item.call_id].arguments)


def not_handed_over(outcome: Outcome) -> Iterator[int]:
    return _with_output(outcome, NOT_HANDED_OVER)


def cut_with_its_agent(outcome: Outcome) -> Iterator[int]:
    return _with_output(outcome, CUT_BY_LIVEKIT)


def _with_output(outcome: Outcome, text: re.Pattern[str]) -> Iterator[int]:
    items = outcome.history.items
    calls = {item.call_id: item for item in items if item.type == "function_call"}
    for item in items:
        if item.type == "function_call_output" and text.search(item.output):
            yield _number(calls[item.call_id].arguments)


def lies(jobs: Jobs, outcome: Outcome) -> Iterator[str]:
    calls = {item.call_id: item for item in outcome.history.items if item.type == "function_call"}
    for item in outcome.history.items:
        if item.type != "function_call_output" or item.call_id not in calls:
            continue
        number = _number(calls[item.call_id].arguments)
        runs = [run for run in jobs.runs if run.number == number]
        if NOT_DONE in item.output and any(run.effect is not None for run in runs):
            yield f"{item.output!r} of job {number}, which took effect"
        cut = runs and all(run.how == "CancelledError" for run in runs)
        if cut and not item.output and not item.is_error:
            yield f"an empty result of job {number}, which was cancelled"


def _number(arguments: str) -> int:
    found = re.search(r"\d+", arguments)
    return int(found[0]) if found else 0


def brought(jobs: Jobs, outcome: Outcome) -> dict[int, frozenset[int]]:
    known: set[int] = set()
    asked: list[tuple[float, frozenset[int]]] = []
    for request in sorted(outcome.requests, key=lambda request: request.at):
        calls = {entry.id: _number(entry.text) for entry in request.shown if entry.kind == "call"}
        results = (entry for entry in request.shown if entry.kind == "result")
        shown = {calls.get(entry.id, 0) for entry in results if " is still " not in entry.text}
        asked.append((request.at, frozenset(shown - known) if _is_about_results(request) else NONE))
        known |= shown
    brought: dict[int, frozenset[int]] = {}
    for run in sorted(jobs.runs, key=lambda run: run.start):
        before = [news for at, news in asked if at <= run.start]
        brought.setdefault(run.number, before[-1] if before else NONE)
    return brought


def _is_about_results(request: Request) -> bool:
    typed = any("typed" in entry.text for entry in request.shown[-1:])
    return not (typed or sentence_answered(request))


def scripted(plan: Plan, jobs: Jobs) -> Counter[str]:
    """What LiveKit logs because a tool gave what the plan lets it give, once for each run."""
    said: Counter[str] = Counter()
    for run in jobs.runs:
        job = plan.jobs[run.number]
        if run.how == "ToolError":
            said["ToolError while executing tool"] += 1
        elif run.how == "result" and job.ends == "invalid":
            said[f"AI function `{run.name}` returned an invalid output"] += 1
        elif run.how == "result" and job.ends == "hands_off" and job.waits == "updates":
            said[f"tool `{run.name}` {REPORTED_AGENT}"] += 1
    begun = Counter(r.start for r in jobs.runs if plan.jobs[r.number].ends == "hands_off")
    named = "AgentTask" if plan.model == "pipeline" else "Agent"
    said[TWO_AGENTS.format(named)] += sum(many - 1 for many in begun.values())
    return said
