"""Finds facts that no proof depends on: they only guard actions that no property is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnfsm.fsm.flow import Flow, Names, Row
from turnfsm.fsm.load import load_shipped

from .parts import Bits, Rule

__all__ = ["aside_facts"]


def aside_facts(flow: Flow, bits: Bits, rules: Iterable[Rule]) -> Names:
    """The facts that may be assumed to be true or false at any time, like host facts.

    They guard only transitions that stay in their state, restart only timers with such transitions,
    and choose actions that no property is about, such as saying a text. This over-approximates the
    flow, and these facts do not multiply the number of configurations.

    Args:
        rules: All rules that are proved.
    """
    if flow.kind != "turn":
        return ()
    proved = {*load_shipped("turn").actions, *(one.action for one in flow.properties.never)}
    asides = {row.id for row in _asides(flow, proved)}
    judged = 0
    for rule in rules:
        judged |= rule.reads
    decisive = {
        fact
        for row in flow.rows()
        if row.id not in asides
        for fact in (*row.transition.conditions, *row.transition.unless)
    }
    return tuple(
        name
        for name, fact in flow.facts.items()
        if not fact.host and name not in decisive and not bits.facts[name] & judged
    )


def _asides(flow: Flow, proved: set[str | None]) -> Iterator[Row]:
    """The transitions that change no state and no wait, and have no action that a property is
    about."""
    quiet, loud = [], set[tuple[str, str]]()
    for row in flow.rows():
        if row.internal and not proved.intersection(row.transition.actions):
            quiet.append(row)
        else:
            loud.add((row.source, row.trigger))
    for row in quiet:
        timers = {(row.source, timer) for timer in row.transition.restarts}
        if row.timer and not timers & loud:
            yield row
