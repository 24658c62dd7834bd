"""Rules that find failures in a recording of public events.

Each rule finds something that the flow `turn` makes impossible, or an outage. A rule reports only
what the events prove: a false alarm costs more than a miss.
"""

from __future__ import annotations

from collections.abc import Set

from turnfsm.fsm.audit.events import Evidence
from turnfsm.fsm.audit.facts import Facts

from . import outages, replies, tools, user  # noqa: F401  # their rules
from .rule import RULES, AuditFinding, Decision

__all__ = ["FAILURES", "AuditFinding", "Decision", "findings_in", "unjudged"]

FAILURES = tuple(sorted({rule.failure for rule in RULES if rule.failure}))
"""The letters that findings can have."""


def findings_in(facts: Facts) -> list[tuple[AuditFinding, tuple[str, ...]]]:
    """All failures in chronological order, each with the triggers to look for in the flow."""
    judge = [rule for rule in RULES if not facts.recording.lacks & set(rule.needs)]
    findings = [(finding, rule.asks) for rule in judge for finding in rule.findings(facts)]
    return sorted(findings, key=lambda pair: pair[0].at)


def unjudged(lacks: Set[Evidence]) -> tuple[str, ...]:
    """The evidence that a file lacks, with the letters or properties that it leaves unjudged."""
    missed: dict[Evidence, set[str]] = {need: set() for need in Evidence}
    for rule in RULES:
        for need in [evidence for evidence in rule.needs if evidence in lacks][:1]:
            missed[need].add(rule.failure or rule.property or "outages")
    return tuple(f"{need} ({', '.join(sorted(names))})" for need, names in missed.items() if names)
