"""The error of the test kit."""

from turnfsm.fsm import TurnfsmError

__all__ = ["KitError"]


class KitError(TurnfsmError, ValueError):
    """A stage or a script cannot be played. The message says what to write instead."""
