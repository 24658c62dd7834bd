"""Journals: the record of one conversation, read and replayed."""

from .errors import JournalError
from .read import JournalReader, journal_of, parse_journal, read_journal
from .records import VERSION, Entry, Header, Journal, Note, Record, Snapshot
from .replay import Divergence, replay

__all__ = [
    "VERSION",
    "Divergence",
    "Entry",
    "Header",
    "Journal",
    "JournalError",
    "JournalReader",
    "Note",
    "Record",
    "Snapshot",
    "journal_of",
    "parse_journal",
    "read_journal",
    "replay",
]
