"""What must not happen in any conversation, whatever the reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .facts import (
    Finding,
    heard_words,
    known_result,
    may_be_lost,
    outputs,
    stops,
    with_results,
)
from .play import Played

__all__ = ["hard_findings"]

SETTLED = 10.0
"""Seconds after which a call has been made, and a sentence is in the history."""

CLOSES = 12.0
"""Seconds that a close may take: LiveKit gives tools five, and lets a speech end."""

CANCELLED = re.compile(r"\b(cancel|abort)\w*", re.IGNORECASE)
"""Plain English for: it did not come to its end."""

NO_EFFECT = re.compile(
    r"\b(nothing|never|not (been )?(done|made|run|called|executed)|no effect)\b", re.IGNORECASE
)
"""Plain English for: it did nothing."""

OPEN = {"turn_open", "output_held", "step_running", "tools_running", "turn_deferred"}
"""Facts of the flow `turn` that do not hold when all is done."""


def hard_findings(played: Played) -> list[Finding]:
    """All that is wrong."""
    if played.failed:
        return [Finding("failed", played.failed)]
    measures = (_twice, _undone, _lost, _unseen, _lies, _words, _leftovers)
    return [Finding(m.__name__.strip("_"), text) for m in measures for text in m(played)]


def _twice(played: Played) -> Iterator[str]:
    """Each sentence asks once for each of its jobs."""
    effects = Counter((run.job, run.asked) for run in played.runs if run.effect is not None)
    for (job, asked), count in effects.items():
        if count > 1:
            yield f"job {job}, asked for in sentence {asked}, took effect {count} times"


def _undone(played: Played) -> Iterator[str]:
    """A call that the model has made takes effect, to its end, unless that is opted out of."""
    script, given_up = played.script, stops(played)
    for number, sound in script.sentences():
        replies = [said for said in played.said if number in said.answers]
        made = [s.request for s in replies if s.request.outcome == "complete"]
        stopped = any(r.at <= t <= (r.ended or r.at) + 1.0 for r in made for t in given_up)
        if not made or stopped or any(said.fails for said in replies):
            continue
        for job in sound.calls:
            after, effect = script.jobs[job].after, _effects(played, job, number)
            if script.jobs[job].policy == "cancel" or script.jobs[job].does == "playout":
                continue
            if not effect and (made[0].ended or 0.0) < script.end - SETTLED:
                yield f"job {job}, asked for in sentence {number}, never took effect"
            elif after and effect and effect[0] + after < script.end and None in effect[1:]:
                yield f"job {job}, asked for in sentence {number}, took half of its effect"


def _effects(played: Played, job: int, asked: int) -> list[float | None]:
    runs = [r for r in played.runs if (r.job, r.asked) == (job, asked) and r.effect is not None]
    return [when for run in runs for when in (run.effect, run.second)]


def _lost(played: Played) -> Iterator[str]:
    """A result is in the history."""
    kept = set(_results(outputs(played.outcome.history)))
    for run, end, text in with_results(played, played.script.end - 1.0):
        if (run.job, run.asked, text) not in kept:
            yield f"the result of job {run.job} (sentence {run.asked}, {end:.2f} s)"


def _unseen(played: Played) -> Iterator[str]:
    """A request shows each result that there is."""
    for run, end, text in with_results(played, played.script.end):
        for request in played.outcome.requests:
            shown = set(_results(outputs(request.chat_ctx)))
            if request.at > end + 0.1 and (run.job, run.asked, text) not in shown:
                at = f"the request at {request.at:.2f} s"
                yield f"{at} does not show the result of job {run.job} (sentence {run.asked})"
                break


def _results(outputs: Iterator[tuple[tuple[int, int], str]]) -> Iterator[tuple[int, int, str]]:
    for (job, asked), output in outputs:
        for text in re.findall(r"\b(?:done|failed)\d+\b", output):
            yield job, asked, text


def _lies(played: Played) -> Iterator[str]:
    """No output says of a call what did not happen, and the history has no words unheard."""
    contexts = [(request.at, request.chat_ctx) for request in played.outcome.requests]
    contexts.append((played.script.seconds, played.outcome.history))
    found: set[str] = set()
    for at, context in contexts:
        for (job, asked), output in outputs(context):
            runs = [r for r in played.runs if (r.job, r.asked) == (job, asked)]
            if re.search(r"\b(done|failed|n)\d+\b", output):
                continue
            complete = any(known_result(played, r) and (r.end or at) < at for r in runs)
            begun = any(r.effect is not None and r.effect < at for r in runs)
            if (complete and CANCELLED.search(output)) or (begun and NO_EFFECT.search(output)):
                found.add(f"{output!r} of job {job} (sentence {asked}), which took effect")
    yield from sorted(found)
    heard = heard_words(played)
    for item in played.outcome.history.items:
        if item.type == "message" and item.role == "assistant":
            words = [word.strip(".") for word in (item.text_content or "").split()]
            unheard = [word for word in words if word not in heard]
            if len(unheard) > 1:
                yield f"the history has {' '.join(unheard)}, which nobody heard"


def _words(played: Played) -> Iterator[str]:
    """What was recognised is in the history, once."""
    script = played.script
    said = [
        word
        for item in played.outcome.history.items
        if item.type == "message" and item.role == "user"
        for word in re.findall(r"\bu\d+[a-z]\b", item.text_content or "")
    ]
    for number, sound in script.sentences():
        counts = [said.count(word) for word in script.words(number)]
        if max(counts) > 1:
            yield f"sentence {number} is in the history twice"
        expected = sound.recognised < script.end - SETTLED and not may_be_lost(played, sound)
        if expected and min(counts) == 0:
            yield f"sentence {number} is not in the history"


def _leftovers(played: Played) -> Iterator[str]:
    """Nothing outlives the session, and it owes nothing at rest."""
    outcome = played.outcome
    yield from (f"the task {name} is left" for name in outcome.orphans)
    yield from (f"a timer is left: {name}" for name in outcome.timers)
    if outcome.closed_in > CLOSES:
        yield f"closing takes {outcome.closed_in:.1f} s"
    if played.state and (played.state[0] != "listening" or OPEN & {*played.state}):
        yield f"at the end the turn is {', '.join(played.state)}"
    closes = sum(event.what.startswith("close: ") for event in outcome.events)
    if closes != 1:
        yield f"there are {closes} close events"
