"""Replays journals."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.machine import Machine
from turnfsm.fsm.verdicts import Verdict

from .records import Entry, Journal

__all__ = ["Divergence", "replay"]


@attrs.frozen
class Divergence:
    """The first entry of a journal that a flow decides differently.

    Attributes:
        seq: The number of the entry.
        trigger: Its trigger.
        expected: The journal's verdict, state, facts afterwards, and row or reason.
        got: The same of the flow.
    """

    seq: int
    trigger: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"entry {self.seq} ({self.trigger}): journal {self.expected}; flow {self.got}"


def replay(journal: Journal, flow: Flow) -> Divergence | None:
    """Run the triggers of a journal through a flow, and compare every decision.

    Verdict, state, facts and row of each entry are compared. If the first entries were dropped, the
    replay begins at the snapshot in the header.

    Args:
        journal: The journal.
        flow: The flow that wrote it, or a changed one.

    Returns:
        The first difference, or None.

    Raises:
        UnknownTrigger: The flow does not have a trigger of the journal.
        UnknownName: The flow does not have a state or fact of the journal.

    Example:
        >>> from turnfsm import Header, Journal, load_flow, replay
        >>> replay(Journal(Header("turn", "listening"), ()), load_flow("turn")) is None
        True
    """
    machine = Machine(flow)
    snapshot = journal.header.snapshot
    if snapshot is not None:
        machine.restore(snapshot.state, snapshot.facts, snapshot.tokens)
    for entry in journal.entries:
        if snapshot is not None and entry.seq <= snapshot.seq:
            continue
        divergence = _again(machine, entry)
        if divergence is not None:
            return divergence
    return None


def _again(machine: Machine, entry: Entry) -> Divergence | None:
    machine.set_host_facts({name: name in entry.facts for name in machine.program.flow.host_facts})
    verdict = machine.step(entry.trigger, entry.of)
    got = _outcome(verdict, machine.program.names(machine.facts))
    expected = _outcome(entry.verdict, entry.facts)
    if got == expected:
        return None
    return Divergence(entry.seq, entry.trigger, expected, got)


def _outcome(verdict: Verdict, facts: Iterable[str]) -> str:
    taken, reason = ("taken", verdict.row) if verdict else ("refused", verdict.reason)
    return f"{taken} ({reason}) -> {verdict.dest} {{{', '.join(sorted(facts))}}}"
