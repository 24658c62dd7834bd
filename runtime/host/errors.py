"""The errors of tools."""

from __future__ import annotations

from turnfsm.fsm import TurnfsmError

__all__ = ["SpeechInterrupted"]


class SpeechInterrupted(TurnfsmError):
    """The user objects to the side effect of a tool, or the application has interrupted the turn.

    `commit_point` raises it, so that the side effect after it does not happen. An acknowledgement,
    such as "okay, bye", is not an objection; the flow lists them. If the tool does not catch the
    error, its message becomes the result of the call.
    """
