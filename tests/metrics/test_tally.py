"""What went wrong in a conversation, counted, and the order of conversations by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnfsm import load_flow
from turnfsm.fsm.journal import ComponentFailed, journal_of
from turnfsm.fsm.metrics.figures import measure
from turnfsm.fsm.metrics.report import report
from turnfsm.fsm.metrics.tally import Tally
from turnfsm.fsm.metrics.values import (
    Cause,
    LimitReached,
    Part,
    Refusal,
    Reported,
    Response,
    Silence,
    Value,
)


def tally_of(values: Iterable[Value]) -> Tally:
    """The trouble in these values."""
    tally = Tally()
    for value in values:
        tally.add(value)
    return tally


def silence(start: float, end: float, cause: Cause = "llm") -> Silence:
    """A silence with one cause."""
    return Silence((Part(start, end, cause, "why"),))


def test_a_silence_counts_only_if_somebody_waited() -> None:
    """Nobody had asked anything in the longest one."""
    tally = tally_of([silence(1, 4), silence(10, 15, "tts"), silence(20, 90, "nothing_asked")])
    assert (tally.waited, tally.longest) == (8, silence(10, 15, "tts"))


def test_the_worst_moment_is_a_silence_before_a_response_before_a_refusal() -> None:
    """Of several, the longest silence, the slowest response, and the first refusal."""
    refusals = [Refusal(3.0, "reply", "speaking", "no"), Refusal(2.0, "reply", "paused", "no")]
    assert tally_of(refusals).worst == 3.0
    responses = [Response(5.0, 5.5), Response(8.0, 9.5)]
    assert tally_of([*refusals, *responses]).worst == 8.0
    assert tally_of([*refusals, *responses, silence(1, 4), silence(6, 8.5)]).worst == 1
    assert tally_of([]).worst is None


def test_conversations_are_ordered_by_failures_limits_silence_and_refusals() -> None:
    """A component that is tried again is no failure."""
    given_up = Reported(1.0, ComponentFailed("tts", "", "APIError", recoverable=False))
    retried = Reported(1.0, ComponentFailed("tts", "", "APIError", recoverable=True))
    worse_first = [
        tally_of([given_up]),
        tally_of([LimitReached(1.0, "tool_limit")]),
        tally_of([silence(1, 9)]),
        tally_of([silence(1, 4), Refusal(1.0, "reply", "paused", "no")]),
        tally_of([Refusal(1.0, "reply", "paused", "no")]),
        tally_of([retried]),
    ]
    ranks = [tally.rank for tally in worse_first]
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == len(ranks)


def test_a_limit_that_ends_a_wait_is_measured_and_reported() -> None:
    """By the action that tells the application of it, whatever the timer is called."""
    rows = [r for r in load_flow("turn").rows() if "report_limit" in r.transition.actions]
    row = next(row for row in rows if row.timer)
    records: list[dict[str, Any]] = [{"journal": 1, "flow": "turn", "initial": row.source}]
    entry = {"seq": 1, "t": 9.0, "trigger": row.trigger, "of": None, "state": row.source}
    entry |= {"facts": [], "verdict": "taken", "dest": row.dest, "entered": True, "data": {}}
    records.append(entry | {"row": row.id, "actions": list(row.transition.actions)})
    figures = measure(journal_of(records))
    assert figures.limits == {row.trigger: 1}
    assert "Limits reached" in report(figures)
