"""Finds texts that the agent would say again and again in a call in which nobody does anything."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Action, Flow, Row
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Source

__all__ = ["check_endless"]


def check_endless(flow: Flow, source: Source) -> Iterator[Finding]:
    """The transitions that say something and come again when it was heard.

    The call rests in the initial state, and returns to it after a text. So its timers run again
    then, and the trigger `done` of the text may be the one that says it.
    """
    if flow.kind != "turn" or flow.initial not in flow.states:
        return
    staying = [row for row in flow.rows(flow.initial) if row.dest == row.source]
    spoken = [row for row in staying if any(a.audible for a in _actions(flow, row))]
    for row in spoken:
        if not source.inherited(row.path) and _comes_again(flow, row, spoken):
            first = "after" if row.timer else "at"
            yield problem(source, row.path, "endless.text", first=first, trigger=row.trigger)


def _actions(flow: Flow, row: Row) -> list[Action]:
    return [flow.actions[name] for name in row.transition.actions if name in flow.actions]


def _comes_again(flow: Flow, row: Row, spoken: list[Row]) -> bool:
    """Whether the transition is taken again although no other party does anything."""
    if row.timer and flow.timers.get(row.trigger, inf) == inf:
        return False
    seen = [row.trigger]
    for trigger in seen:  # grows
        dones = [done for r in spoken if r.trigger == trigger for done in _done(flow, r)]
        seen += [done for done in dict.fromkeys(dones) if done not in seen]
    done = set(_done(flow, row))
    if row.timer:
        effective = (row for row in flow.rows() if row.transition.actions or not row.internal)
        again = not any(other.trigger in done for other in effective)
    else:
        again = any(row.trigger in _done(flow, other) for other in spoken if other.trigger in seen)
    return again and not _stops(flow, row, set(seen))


def _done(flow: Flow, row: Row) -> Iterator[str]:
    """The triggers that are posted when its texts were heard."""
    return (a.done for a in _actions(flow, row) if a.audible and a.done is not None)


def _stops(flow: Flow, row: Row, loop: set[str]) -> bool:
    """Whether its guard may forbid it for good: by a fact that it sets itself, that is never
    cleared, or that only the host knows."""
    if row.transition.conditions:
        return True
    facts = (flow.facts[name] for name in row.transition.unless if name in flow.facts)
    return any(
        fact.host or loop & {*fact.set_by} or (fact.scope is None and not fact.cleared_by)
        for fact in facts
    )
