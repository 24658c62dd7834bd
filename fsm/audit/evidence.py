"""What a format of recordings may lack."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Evidence"]


class Evidence(StrEnum):
    """What a rule needs to know. The value completes "the file does not say ..."."""

    REQUESTS = "when the model was asked"
    REPLIES = "when each reply began and ended"
    INTERRUPTIONS = "when a reply was interrupted"
    INTERRUPTIBLE = "which replies may be interrupted"
    CALLS = "when each tool began and ended"
    RESULTS = "when a tool's result was added to the conversation"
    TRANSCRIPTS = "when each transcript came"
    MESSAGES = "which messages are in the history, and since when"
    PLAYOUT = "which playout was interrupted"
    STATES = "which agent state was published"
    RESUMES = "which interruptions were taken for false"
    HANDOFFS = "when an agent handed over"
    ERRORS = "which components failed"
    CLOSE = "when and why the session closed"
    CLOSING = "when closing the session began"
