"""What the agent owes the user: obligations, the replies that claim them, and how claims settle."""

from .agenda import Agenda, Obligation, Reply
from .entries import (
    AnswerDue,
    Answered,
    CallDetached,
    CallInBackground,
    CallMade,
    Entry,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    RequestSent,
    ResultMoot,
    ResultReady,
    entry_from_note,
    note_of,
)
from .settlement import COLUMNS, ROWS, Column, Ending, Fate, Kind, Rules, row_of

__all__ = [
    "COLUMNS",
    "ROWS",
    "Agenda",
    "AnswerDue",
    "Answered",
    "CallDetached",
    "CallInBackground",
    "CallMade",
    "Column",
    "Ending",
    "Entry",
    "Fate",
    "Kind",
    "Obligation",
    "Reply",
    "ReplyAsked",
    "ReplyEnded",
    "ReplyHeard",
    "RequestSent",
    "ResultMoot",
    "ResultReady",
    "Rules",
    "entry_from_note",
    "note_of",
    "row_of",
]
