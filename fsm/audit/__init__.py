"""Judges sessions by what they have recorded: LiveKit's events, spans, journals."""

from .audit import Audit, Gap, audit_file, audit_journal, audit_recording
from .events import Recorded, Recording, parse_recording
from .properties import broken_properties
from .rules import AuditFinding

__all__ = [
    "Audit",
    "AuditFinding",
    "Gap",
    "Recorded",
    "Recording",
    "audit_file",
    "audit_journal",
    "audit_recording",
    "broken_properties",
    "parse_recording",
]
