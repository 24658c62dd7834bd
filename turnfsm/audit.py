"""Finds failures in recorded sessions: recordings of LiveKit's events, spans, journals.

Example:
    >>> from turnfsm.audit import audit_recording, parse_recording
    >>> audit_recording(parse_recording(b'{"events": 1}', "events.jsonl")).right
    True
"""

from turnfsm.fsm.audit import (
    Audit,
    AuditFinding,
    Decision,
    Gap,
    Gate,
    GateError,
    Kind,
    Recorded,
    Recording,
    as_junit,
    audit_file,
    audit_journal,
    audit_recording,
    audits_as_html,
    audits_as_sarif,
    kinds_of,
    parse_recording,
)

__all__ = [
    "Audit",
    "AuditFinding",
    "Decision",
    "Gap",
    "Gate",
    "GateError",
    "Kind",
    "Recorded",
    "Recording",
    "as_junit",
    "audit_file",
    "audit_journal",
    "audit_recording",
    "audits_as_html",
    "audits_as_sarif",
    "kinds_of",
    "parse_recording",
]


def __dir__() -> list[str]:
    return __all__
