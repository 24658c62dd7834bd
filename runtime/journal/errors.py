"""The one error of journals."""

from turnfsm.fsm import TurnfsmError

__all__ = ["JournalError"]


class JournalError(TurnfsmError):
    """A journal that cannot be read or written, or that a flow does not reproduce."""
