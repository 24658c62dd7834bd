"""What happens when a flow runs."""

from .journal import Entry, Journal, JournalError, JsonlSink, Note, read_journal, replay
from .pump import Event, EventPump
from .turn import TurnRuntime

__all__ = [
    "Entry",
    "Event",
    "EventPump",
    "Journal",
    "JournalError",
    "JsonlSink",
    "Note",
    "TurnRuntime",
    "read_journal",
    "replay",
]
