"""The one error of journals."""

from turnfsm.fsm.errors import TurnfsmError

__all__ = ["JournalError"]


class JournalError(TurnfsmError):
    """A journal that cannot be read or written; names the file and the line."""
