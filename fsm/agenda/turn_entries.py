"""The entries of the log about the turns of the user, and about the speeches that answer them."""

from __future__ import annotations

import attrs

from .settlement import Ending

__all__ = [
    "NoReply",
    "PlayoutStarted",
    "ReplyScheduled",
    "SessionClosed",
    "SpeechEnded",
    "SpeechFailed",
    "SpeechInterrupted",
    "TurnCommitted",
    "TurnNotCommitted",
]


@attrs.frozen
class TurnCommitted:
    """A turn of the user was committed.

    Attributes:
        turn: Its number in the session.
        deferred: It had been deferred before, or contains a turn that had.
    """

    turn: int
    deferred: bool = False


@attrs.frozen
class TurnNotCommitted:
    """A deferred turn will not be committed.

    Attributes:
        turn: Its number in the session.
        dropped: The session has closed. Otherwise a newer turn contains it.
    """

    turn: int
    dropped: bool = False


@attrs.frozen
class ReplyScheduled:
    """The reply to a committed turn waits for the floor.

    Attributes:
        message: The id of the user's message that it answers; empty if that is not known yet.
    """

    turn: int
    speech: str
    message: str = ""


@attrs.frozen
class NoReply:
    """No reply to a committed turn was requested.

    Attributes:
        later: The turn is deferred again.
    """

    turn: int
    later: bool = False


@attrs.frozen
class PlayoutStarted:
    """The user starts to hear a step of this speech."""

    speech: str


@attrs.frozen
class SpeechInterrupted:
    """A speech is interrupted. `by`: who has interrupted it."""

    speech: str
    by: Ending


@attrs.frozen
class SpeechFailed:
    """A component that this speech needs has failed for good. `failure`: how, as a sentence."""

    speech: str
    failure: str


@attrs.frozen
class SpeechEnded:
    """Nothing more of this speech is heard.

    Attributes:
        interrupted: It was interrupted.
        newer: A later turn is deferred.
        closing: The session closes.
    """

    speech: str
    interrupted: bool = False
    newer: bool = False
    closing: bool = False


@attrs.frozen
class SessionClosed:
    """The session has closed."""
