"""Journals: reads and replays the record of one conversation."""

from .read import JournalReader, journal_of, parse_journal, read_journal
from .records import VERSION, Entry, Header, Journal, JournalError, Note, Record, Snapshot
from .replay import Divergence, replay
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
    "VERSION",
    "AgentEntryFailed",
    "AudioResumed",
    "AudioStopped",
    "Closed",
    "ComponentFailed",
    "ComponentPart",
    "ComponentSwitched",
    "Divergence",
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
