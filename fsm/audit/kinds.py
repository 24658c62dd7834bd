"""Counts findings by kind, with the silence that they cost users."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from .audit import Audit
from .rules import AuditFinding
from .rules.rule import LONG

__all__ = ["CLASSES", "Kind", "cost_of", "kinds_of"]

CLASSES = {
    "A": "a preemptive reply while a tool runs",
    "B": "a pause where nothing was heard",
    "C": "tool results lost, repeated or out of place",
    "D": "an interruption while a tool runs",
    "E": "waiting for something that does not come",
    "F": "a turn of the user is lost",
    "G": "the history is not what was heard",
    "H": "the agent state is wrong",
    "N": "noise ends what the agent does",
}
"""The classes of docs/failures.md; the last one is of docs/pipecat-failures.md."""


@attrs.frozen
class Kind:
    """One kind of failure, over several sessions.

    Attributes:
        failure: The letter of its class in docs/failures.md; empty if it has none.
        property: The one of the ten properties that forbids it; empty if none does.
        findings: The number of findings.
        sessions: The number of sessions with such findings.
        silence: Seconds of the silences that contain such a finding, or begin within 1 s after one.
            Each silence counts once.
    """

    failure: str
    property: str
    findings: int
    sessions: int
    silence: float


def kinds_of(audits: Iterable[Audit]) -> tuple[Kind, ...]:
    """Count the findings of sessions by kind.

    Args:
        audits: The audit of each session.

    Returns:
        The kinds, sorted by silence, then by number of findings, the largest first.

    Example:
        >>> from turnfsm.audit import audit_recording, kinds_of, parse_recording
        >>> kinds_of([audit_recording(parse_recording(b'{"events": 1}', "events.jsonl"))])
        ()
    """
    groups: dict[tuple[str, str], list[tuple[Audit, AuditFinding]]] = {}
    for audit in audits:
        for finding in audit.findings:
            groups.setdefault((finding.failure, finding.property), []).append((audit, finding))
    kinds = [
        Kind(*kind, len(found), len({id(audit) for audit, _ in found}), _silence(found))
        for kind, found in groups.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: (-kind.silence, -kind.findings)))


def cost_of(audit: Audit) -> float:
    """Seconds of silence in which, or within 1 s before which, anything was found."""
    return _silence((audit, finding) for finding in audit.findings)


def _silence(found: Iterable[tuple[Audit, AuditFinding]]) -> float:
    gaps = {
        (id(audit), gap)
        for audit, finding in found
        for gap in audit.silences
        if gap.start - LONG <= finding.at <= gap.end
    }
    return round(sum(gap.end - gap.start for _, gap in gaps), 6)
