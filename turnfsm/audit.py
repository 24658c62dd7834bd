"""Finds failures in recorded sessions: recordings of LiveKit's events, spans, journals.

Example:
    >>> from turnfsm.audit import audit_recording, parse_recording
    >>> audit_recording(parse_recording(b'{"events": 1}', "events.jsonl")).ok
    True
"""

from turnfsm.fsm.audit.audit import Audit, Gap, audit_journal, audit_recording
from turnfsm.fsm.audit.events import Recorded, Recording, parse_recording
from turnfsm.fsm.audit.files import audit_file
from turnfsm.fsm.audit.gate import Gate, GateError
from turnfsm.fsm.audit.html import audits_as_html
from turnfsm.fsm.audit.junit import as_junit
from turnfsm.fsm.audit.kinds import Kind, kinds_of
from turnfsm.fsm.audit.rules import AuditFinding, Decision
from turnfsm.fsm.audit.sarif import audits_as_sarif

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
