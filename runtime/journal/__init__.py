"""Writes journals: every request and event, with its verdict and cause.

`turnfsm.fsm.journal` says what a journal is, and reads it.
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
