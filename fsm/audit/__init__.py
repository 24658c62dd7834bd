"""Finds failures in recorded sessions: LiveKit's events, spans, journals."""

from .audit import Audit, Gap, audit_journal, audit_recording
from .events import Recorded, Recording, parse_recording
from .files import audit_file
from .gate import Gate, GateError
from .html import audits_as_html
from .junit import as_junit
from .kinds import Kind, kinds_of
from .properties import broken_properties
from .rules import AuditFinding, Decision
from .sarif import audits_as_sarif

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
    "broken_properties",
    "kinds_of",
    "parse_recording",
]
