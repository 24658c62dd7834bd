"""Journals: reads and replays the record of one conversation."""

from .read import JournalReader, journal_of, parse_journal, read_journal
from .records import Entry, Header, Journal, JournalError, Note, Record, Snapshot
from .replay import replay
from .session_events import (
    AgentEntryFailed,
    AudioResumed,
    AudioStopped,
    Closed,
    ComponentFailed,
    ComponentPart,
    ComponentSwitched,
    ReplyAudio,
    ReplyText,
    SessionEvent,
    VoiceUnrecognised,
    session_event,
)

__all__ = [
    "AgentEntryFailed",
    "AudioResumed",
    "AudioStopped",
    "Closed",
    "ComponentFailed",
    "ComponentPart",
    "ComponentSwitched",
    "Entry",
    "Header",
    "Journal",
    "JournalError",
    "JournalReader",
    "Note",
    "Record",
    "ReplyAudio",
    "ReplyText",
    "SessionEvent",
    "Snapshot",
    "VoiceUnrecognised",
    "journal_of",
    "parse_journal",
    "read_journal",
    "replay",
    "session_event",
]
