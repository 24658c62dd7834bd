"""Writes the record of everything that was asked and that happened, with its verdict and cause.

What a journal is, and how it is read, is `turnfsm.fsm.journal`.
"""

from .live import Listener, LiveJournal, Raw, Sink
from .redact import PRIVATE, Redact, Redactor
from .sinks import JsonlSink, as_line, write_journal

__all__ = [
    "PRIVATE",
    "JsonlSink",
    "Listener",
    "LiveJournal",
    "Raw",
    "Redact",
    "Redactor",
    "Sink",
    "as_line",
    "write_journal",
]
