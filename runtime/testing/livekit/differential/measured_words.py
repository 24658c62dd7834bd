"""Measures of the user's words, and of what the application asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import takewhile

from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.scripted_llm import Request

from .agents import sentence_answered
from .plan import Plan

__all__ = ["asked", "before_typed", "moves", "outdated", "put", "together", "words"]

OUTDATED = "preemptive generation invalidated"
"""What LiveKit warns of when it cannot use a request that was made ahead."""


def asked(outcome: Outcome) -> dict[int, float]:
    asked: dict[int, float] = {}
    for at, numbers in _latest(outcome):
        for number in numbers:
            asked.setdefault(number, at)
    return asked


def put(outcome: Outcome) -> dict[int, tuple[tuple[float, bool], ...]]:
    put: dict[int, tuple[tuple[float, bool], ...]] = {}
    for request in outcome.requests:
        if number := sentence_answered(request):
            whole = request.outcome != "cancelled"
            put[number] = (*put.get(number, ()), (request.at, whole))
    return put


def before_typed(outcome: Outcome) -> dict[int, float]:
    before: dict[int, float] = {}
    for request in outcome.requests:
        *words, last = _unanswered(request) or [""]
        if "typed" in last:
            for number in re.findall(r"\bu(\d+)[a-z]", " ".join(words)):
                before.setdefault(int(number), request.at)
    return before


def together(outcome: Outcome) -> dict[int, int]:
    said = {item.text_content for item in outcome.history.items if item.type == "message"}
    put = {words[-1] for request in outcome.requests if (words := _unanswered(request))}
    messages = [
        [int(number) for number in re.findall(r"\bu(\d+)[a-z]", " ".join(words))]
        for request in outcome.requests
        for words in [_unanswered(request) or [_said_last(request)]]
        # Words that came before the answer were asked with it, unless they are a turn of their own.
        if (
            words[-1] in said
            or not (request.outcome == "cancelled" or _went_on(words[-1], said))
            # The session closed before a realtime model's transcript came.
            or (request.realtime and request is outcome.requests[-1])
        )
        if "typed" not in words[-1]
        # A request about results still shows what was put before.
        and (words[-1] not in put or _unanswered(request))
    ]
    last = {number: max(numbers) for numbers in messages for number in numbers}
    alone = {max(numbers) for numbers in messages if numbers}
    return {number: later for number, later in last.items() if number not in alone}


def _went_on(words: str, said: Collection[str | None]) -> bool:
    """The user said more in the same turn: the model was asked ahead, and LiveKit dropped that."""
    return any(turn is not None and turn.startswith(f"{words} ") for turn in said)


def outdated(outcome: Outcome) -> Iterator[tuple[float, float]]:
    """If nothing shows when the model was asked ahead, that was in the moment of the warning."""
    requests = [(request.at, sentence_answered(request)) for request in outcome.requests]
    for warned, text in outcome.warnings:
        if text.startswith(OUTDATED):
            sentence = next((n for at, n in requests if at >= warned and n), 0)
            ahead = [at for at, n in requests if at < warned and n == sentence]
            yield max(ahead, default=warned), warned


def _latest(outcome: Outcome) -> Iterator[tuple[float, list[int]]]:
    """Each request, with the sentences that begin in the latest message of the user."""
    for request in outcome.requests:
        yield request.at, [int(n) for n in re.findall(r"\bu(\d+)a", _said_last(request))]


def _unanswered(request: Request) -> list[str]:
    """The user's messages behind all that was said and done, in order."""
    since = takewhile(lambda entry: entry.kind in ("user", "system"), reversed(request.shown))
    return [entry.text for entry in since if entry.kind == "user"][::-1]


def _said_last(request: Request) -> str:
    words = [entry.text for entry in request.shown if entry.kind == "user"]
    return words[-1] if words else ""


def words(plan: Plan, outcome: Outcome, end: float) -> tuple[list[int], list[int]]:
    history = [item for item in outcome.history.items if item.type == "message"]
    said = " ".join(item.text_content or "" for item in history if item.role == "user").split()
    lost, twice = [], []
    for number, sound in enumerate(plan.sounds, 1):
        count = said.count(f"u{number}a")
        if sound.words and sound.at + sound.duration < end - 8.0 and not count:
            lost.append(number)
        if count > 1:
            twice.append(number)
    return lost, twice


def moves(
    plan: Plan, outcome: Outcome
) -> tuple[dict[int, float | None], dict[int, float], list[int]]:
    waits: dict[int, float | None] = {}
    silent: dict[int, float] = {}
    raised = []
    for number in range(len(plan.moves)):
        notes = {note: at for at, note in outcome.notes if note.startswith(f"move {number}: ")}
        begun = min(notes.values(), default=None)
        done = notes.get(f"move {number}: done")
        if any("refused" in note for note in notes):
            raised.append(number)
        elif begun is not None:
            waits[number] = None if done is None else round(done - begun, 3)
            if done is not None:
                heard = (min(h.end, done) - max(h.start, begun) for h in outcome.heard)
                silent[number] = round(done - begun - sum(max(0.0, s) for s in heard), 3)
    return waits, silent, raised
