"""The record of everything that was asked and that happened, with its verdict and its cause."""

from .entries import Entry, Journal, Note, Raw, Sink
from .errors import JournalError
from .redact import PRIVATE, Redact, Redactor
from .replay import Divergence, read_journal, replay
from .sinks import JsonlSink, write_journal

__all__ = [
    "PRIVATE",
    "Divergence",
    "Entry",
    "Journal",
    "JournalError",
    "JsonlSink",
    "Note",
    "Raw",
    "Redact",
    "Redactor",
    "Sink",
    "read_journal",
    "replay",
    "write_journal",
]
