"""A turn of the user, as a host reports it."""

from __future__ import annotations

import attrs

from turnfsm.runtime.conversation.conductor import Conductor

__all__ = ["Turn", "commit_turn"]


@attrs.define(eq=False)
class Turn:
    """A `UserTurn`.

    Attributes:
        new_transcript: Its text.
        restored: A previous worker has received it.
    """

    new_transcript: str
    restored: bool = False


def commit_turn(conductor: Conductor, turn: Turn) -> bool:
    """A turn of the user is complete. Ask the flow whether it may be answered now.

    Returns:
        True if it may be answered; a request for the reply follows. Otherwise the flow ignores the
        turn, or takes it later with `Agent.take_turn`.
    """
    taken = conductor.commits.may_commit(turn)
    conductor.utterance.post("turn_decided")
    if taken:
        conductor.turns.answer_started(turn, ())
    return taken
