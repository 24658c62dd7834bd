"""What a recording of public events shows to be wrong, by class of failure.

Each rule looks for something that the flow `turn` makes impossible. A rule says nothing where the
events do not show it beyond doubt: an alarm that is false costs more than one that is missing.
"""

from __future__ import annotations

from turnfsm.fsm.audit.facts import Facts

from . import replies, tools, user
from .rule import Finding

__all__ = ["Finding", "findings_in"]

_RULES = (*tools.RULES, *replies.RULES, *user.RULES)


def findings_in(facts: Facts) -> tuple[Finding, ...]:
    """All failures, the first divergence first."""
    found = (finding for rule in _RULES for finding in rule.findings(facts))
    return tuple(sorted(found, key=lambda finding: finding.at))
