"""What is highlighted in a flow: a configuration, or the course of a conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from turnfsm.fsm.errors import UnknownName
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Journal
from turnfsm.fsm.machine import Machine
from turnfsm.fsm.verdicts import Taken

__all__ = ["Marks", "journal_marks", "state_marks"]


@attrs.frozen
class Marks:
    """What a picture highlights in a flow.

    Attributes:
        state: The current state.
        facts: The facts that are true in it.
        rows: For each row id ``live`` (its guard holds now) or ``blocked`` (it does not).
        taken: How often each row was taken.
        refused: How often a trigger was refused in a state.
        visits: How often each state was entered.
    """

    state: str | None = None
    facts: tuple[str, ...] = ()
    rows: Mapping[str, str] = attrs.field(factory=dict)
    taken: Mapping[str, int] | None = None
    refused: Mapping[tuple[str, str], int] = attrs.field(factory=dict)
    visits: Mapping[str, int] = attrs.field(factory=dict)


def state_marks(flow: Flow, state: str, facts: Iterable[str] = ()) -> Marks:
    """Mark a state, and the transitions that its facts allow now.

    Args:
        flow: The flow.
        state: The state.
        facts: The facts that are true.

    Returns:
        The marks for `render`.

    Raises:
        UnknownName: The flow has no such state or fact.

    Example:
        >>> from turnfsm import load_flow
        >>> from turnfsm.diagram import state_marks
        >>> state_marks(load_flow("turn"), "thinking", ["user_speaking"]).state
        'thinking'
    """
    machine = Machine(flow)
    machine.restore(state, facts)
    rows = {}
    for row in flow.rows(state):
        verdict = machine.ask(row.trigger)
        taken = bool(verdict) and getattr(verdict, "row", None) == row.id
        rows[row.id] = "live" if taken else "blocked"
    names = machine.program.names(machine.facts)
    return Marks(state=state, facts=names, rows=rows)


def journal_marks(flow: Flow, journal: Journal) -> Marks:
    """Mark how often the rows of a flow were taken, its states entered and its triggers refused.

    Args:
        flow: The flow.
        journal: The journal.

    Returns:
        The marks for `render`.

    Raises:
        UnknownName: The journal has a state or a row that the flow does not have.

    Example:
        >>> from turnfsm import load_flow, read_journal
        >>> from turnfsm.diagram import journal_marks
        >>> journal_marks(load_flow("turn"), read_journal("journal.jsonl")).visits["speaking"]
        3
    """
    taken: Counter[str] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    visits: Counter[str] = Counter([journal.header.initial])
    known = {row.id for row in flow.rows()}
    for entry in journal.entries:
        verdict = entry.verdict
        _must_know("state", verdict.state, flow, flow.states)
        if not isinstance(verdict, Taken):
            refused[verdict.state, entry.trigger] += 1
            continue
        if verdict.row is not None:
            _must_know("row", verdict.row, flow, known)
            taken[verdict.row] += 1
        if verdict.entered:
            visits[verdict.dest] += 1
    return Marks(taken=taken, refused=refused, visits=visits)


def _must_know(what: str, name: str, flow: Flow, known: Iterable[str]) -> None:
    if name not in (names := set(known)):
        raise UnknownName(f"{what} of the journal", name, flow.name, names)
