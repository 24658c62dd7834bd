"""The entries of the log: what happens to obligations, replies and turns. The agenda, and the
outcome of each turn, are computed from these entries alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import attrs

from turnfsm.fsm.fields import note_kind

from .settlement import Ending, Kind

__all__ = [
    "AnswerDue",
    "Answered",
    "AnswersByItself",
    "CallCancelled",
    "CallDetached",
    "CallInBackground",
    "CallMade",
    "CallsReceived",
    "Entry",
    "HeardByModel",
    "MessageTyped",
    "NoReply",
    "NoiseEnded",
    "PlayoutStarted",
    "QuestionAsked",
    "ReplyAsked",
    "ReplyEnded",
    "ReplyHeard",
    "ReplyScheduled",
    "ReplyStopped",
    "RequestSent",
    "ResultDropped",
    "ResultReady",
    "SessionClosed",
    "SpeechEnded",
    "SpeechFailed",
    "SpeechInterrupted",
    "StepFinished",
    "Transcribed",
    "TurnCommitted",
    "TurnDecided",
    "TurnNotCommitted",
    "UtteranceEnded",
    "VoiceStarted",
    "entry_from_note",
    "note_of",
]


def _names(names: Any) -> tuple[str, ...]:
    return tuple(names)


@attrs.frozen
class AnswerDue:
    """The user has said something that no reply answers yet. `utterance`: the id of the message."""

    utterance: str


@attrs.frozen
class NoiseEnded:
    """The last speech gets no answer: it got no transcript, or its turn is to go unanswered."""


@attrs.frozen
class MessageTyped:
    """The user has typed a message, and the reply to it is scheduled. It answers what has
    interrupted a reply before, like a turn that is committed."""


@attrs.frozen
class HeardByModel:
    """A realtime model has heard this utterance. Either the next request answers it, or the model
    by itself."""

    utterance: str


@attrs.frozen
class AnswersByItself:
    """A realtime model replies without being asked. It answers everything that the user has said,
    and delivers nothing else."""

    reply: str


@attrs.frozen
class Answered:
    """These utterances were answered, or will never be."""

    utterances: tuple[str, ...] = attrs.field(converter=_names)


@attrs.frozen
class CallMade:
    """A reply has made a tool call. If the reply continues, a later step of it delivers the
    result."""

    call: str
    reply: str


@attrs.frozen
class CallInBackground:
    """The tool continues in the background. The framework requests a reply for its result, or gives
    it to the next step of the reply that made the call."""

    call: str


@attrs.frozen
class CallDetached:
    """The result of this call will be delivered neither by the reply that made the call nor by the
    framework."""

    call: str


@attrs.frozen
class CallCancelled:
    """A call is being cancelled with its turn. It may still give a result."""

    call: str


@attrs.frozen
class ResultReady:
    """The result of a call has arrived, and can be part of a request. `cancelled`: it says that the
    call was cancelled with its turn."""

    call: str
    cancelled: bool = False


@attrs.frozen
class ResultDropped:
    """The result of this call need not be delivered, for this reason."""

    call: str
    reason: str


@attrs.frozen
class ReplyAsked:
    """A reply is requested.

    Attributes:
        utterances, results: The obligations that it was requested for.
        instructed: It follows instructions of the application, and delivers nothing else.
    """

    reply: str
    utterances: tuple[str, ...] = attrs.field(default=(), converter=_names)
    results: tuple[str, ...] = attrs.field(default=(), converter=_names)
    instructed: bool = False

    def claims(self, kind: Kind, id: str) -> bool:
        """Whether the reply was requested to deliver this obligation."""
        return id in (self.utterances if kind == "utterance" else self.results)


@attrs.frozen
class RequestSent:
    """A request for a step of this reply is sent.

    Attributes:
        shown: The calls whose results the request contains.
        named: The calls that its own instructions name; None without instructions.
        answers: It answers the user.
        unanswered: The user's messages at the end of the request. The reply answers these, even if
            it was not requested for them.
    """

    reply: str
    shown: tuple[str, ...] = attrs.field(default=(), converter=_names)
    named: tuple[str, ...] | None = attrs.field(
        default=None, converter=attrs.converters.optional(_names)
    )
    answers: bool = True
    unanswered: tuple[str, ...] = attrs.field(default=(), converter=_names)


@attrs.frozen
class CallsReceived:
    """The model's stream for the last request of this reply has ended. `calls`: the number of
    calls, some of which may not be made yet."""

    reply: str
    calls: int = 0


@attrs.frozen
class ReplyHeard:
    """The user has heard the last step of this reply, as a whole or in part."""

    reply: str
    whole: bool = True


@attrs.frozen
class ReplyStopped:
    """A reply is about to be interrupted, for this reason.

    Attributes:
        by: What ends it.
        call: The call that interrupts its own reply, if one does.
    """

    reply: str
    by: Ending
    call: str | None = None


@attrs.frozen
class ReplyEnded:
    """This reply has ended.

    Attributes:
        by: What has ended it.
        call: The call that has interrupted its own reply, if one did.
    """

    reply: str
    by: Ending
    call: str | None = None


@attrs.frozen
class TurnCommitted:
    """The turn of this number in the session was committed. `deferred`: it had been deferred
    before, or contains a turn that had."""

    turn: int
    deferred: bool = False


@attrs.frozen
class TurnNotCommitted:
    """A deferred turn will not be committed. `dropped`: the session has closed; otherwise a newer
    turn contains it."""

    turn: int
    dropped: bool = False


@attrs.frozen
class ReplyScheduled:
    """The reply to a committed turn waits for the floor. `message`: the id of the user's message
    that it answers; empty if that is not known yet."""

    turn: int
    speech: str
    message: str = ""


@attrs.frozen
class NoReply:
    """No reply to a committed turn was requested. `later`: the turn is deferred again."""

    turn: int
    later: bool = False


@attrs.frozen
class PlayoutStarted:
    """The user starts to hear a step of this speech."""

    speech: str


@attrs.frozen
class SpeechInterrupted:
    """A speech is interrupted. `by`: who has interrupted it. `turn`: it is a committed turn, whose
    reply answers the interruption."""

    speech: str
    by: Ending
    turn: bool = False


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
class VoiceStarted:
    """The user begins to speak."""


@attrs.frozen
class Transcribed:
    """A final transcript has come."""


@attrs.frozen
class UtteranceEnded:
    """The user is silent, and no transcript of what they have said is expected any more."""


@attrs.frozen
class TurnDecided:
    """The end of the user's turn was decided: what they say from now on is another turn.
    `leftover`: the text, if it becomes part of that turn."""

    leftover: str = ""


@attrs.frozen
class StepFinished:
    """The step of this speech has released the floor."""

    speech: str


@attrs.frozen
class QuestionAsked:
    """A question to the user waits for the floor. A call waits for the answer."""

    speech: str


@attrs.frozen
class SessionClosed:
    """The session has closed."""


Entry = (
    AnswerDue
    | HeardByModel
    | NoiseEnded
    | MessageTyped
    | AnswersByItself
    | Answered
    | CallMade
    | CallCancelled
    | CallDetached
    | CallInBackground
    | ResultReady
    | ResultDropped
    | ReplyAsked
    | RequestSent
    | CallsReceived
    | ReplyHeard
    | ReplyStopped
    | ReplyEnded
    | TurnCommitted
    | TurnNotCommitted
    | ReplyScheduled
    | NoReply
    | PlayoutStarted
    | SpeechInterrupted
    | SpeechFailed
    | SpeechEnded
    | VoiceStarted
    | Transcribed
    | UtteranceEnded
    | TurnDecided
    | StepFinished
    | QuestionAsked
    | SessionClosed
)

_KINDS: Mapping[str, type[Any]] = {note_kind(kind): kind for kind in get_args(Entry)}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_FIELDS = {kind: [(f.name, f.default) for f in attrs.fields(kind)] for kind in _NAMES}


def note_of(entry: Entry) -> tuple[str, dict[str, Any]]:
    """The kind and the data of the journal's note about an entry.

    Example:
        >>> note_of(ReplyEnded("speech_1", "user"))
        ('reply_ended', {'reply': 'speech_1', 'by': 'user'})
    """
    data = {
        name: list(value) if isinstance(value, tuple) else value
        for name, default in _FIELDS[type(entry)]
        if (value := getattr(entry, name)) != default
    }
    return _NAMES[type(entry)], data


def entry_from_note(kind: str, data: Mapping[str, Any]) -> Entry | None:
    """The entry in a journal's note; None if the note is about something else.

    Raises:
        TypeError: The data is not that of such a note.
    """
    entry_type = _KINDS.get(kind)
    return None if entry_type is None else entry_type(**data)
