"""The error of journals."""

from turnfsm.fsm.errors import TurnfsmError

__all__ = ["JournalError"]


class JournalError(TurnfsmError):
    """A journal cannot be read or written. The message names the file and the line."""
