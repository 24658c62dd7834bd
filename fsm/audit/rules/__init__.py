"""Rules that find failures in a recording of public events.

Each rule finds something that the flow `turn` makes impossible, or an outage. A rule reports only
what the events prove: a false alarm costs more than a miss.
"""

from __future__ import annotations

from turnfsm.fsm.audit.facts import Facts

from . import outages, replies, tools, user
from .rule import AuditFinding, Decision

__all__ = ["FAILURES", "AuditFinding", "Decision", "findings_in"]

_RULES = (*tools.RULES, *replies.RULES, *user.RULES, *outages.RULES)

FAILURES = tuple(sorted({rule.failure for rule in _RULES if rule.failure}))
"""The letters that findings can have."""


def findings_in(facts: Facts) -> list[tuple[AuditFinding, tuple[str, ...]]]:
    """All failures in chronological order, each with the triggers to look for in the flow."""
    found = [(finding, rule.asks) for rule in _RULES for finding in rule.findings(facts)]
    return sorted(found, key=lambda one: one[0].at)
