"""Judges sessions by what they have recorded: LiveKit's events, spans, journals."""

from .audit import Audit, Gap, audit_file, audit_journal, audit_recording
from .events import Recorded, Recording, parse_recording
from .kinds import Kind, kinds_of
from .properties import broken_properties
from .rules import AuditFinding

__all__ = [
    "Audit",
    "AuditFinding",
    "Gap",
    "Kind",
    "Recorded",
    "Recording",
    "audit_file",
    "audit_journal",
    "audit_recording",
    "broken_properties",
    "kinds_of",
    "parse_recording",
]
