"""Converts a counterexample to a journal."""

from __future__ import annotations

from turnfsm.fsm import Machine
from turnfsm.fsm.check.trace import Trace
from turnfsm.fsm.flow import NEVER
from turnfsm.fsm.journal import Journal

from .live import LiveJournal

__all__ = ["trace_journal"]


def trace_journal(proof: Trace, pace: float = 0.0) -> Journal:
    """The journal of a machine that takes the steps of a counterexample.

    Each takes `pace` seconds; a timer takes its own.
    """
    assert proof.flow is not None
    machine = Machine(proof.flow)
    journal = LiveJournal(machine.program, maxlen=len(proof.steps) + 1)
    journal.started_at = now = 0.0
    for seq, step in enumerate(proof.steps, 1):
        machine.set_host_facts(step.host_facts)
        verdict = machine.step(step.trigger, step.of)
        seconds = proof.flow.timers.get(step.trigger, pace)
        now += pace if seconds == NEVER else seconds
        after = machine.configuration, machine.tokens
        journal.append((seq, now, step.trigger, step.of, *after, verdict, None, None))
    return journal.read()
