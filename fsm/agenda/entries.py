"""What happens to obligations and replies, in the order in which it happens. The agenda is a fold
of these entries, and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from .settlement import Ending, Kind

__all__ = [
    "AnswerDue",
    "Answered",
    "AnswersByItself",
    "CallDetached",
    "CallInBackground",
    "CallMade",
    "CallsKnown",
    "Entry",
    "HeardByModel",
    "NoiseEnded",
    "ReplyAsked",
    "ReplyEnded",
    "ReplyHeard",
    "RequestSent",
    "ResultMoot",
    "ResultReady",
    "entry_from_note",
    "note_of",
]


def _names(names: Any) -> tuple[str, ...]:
    return tuple(names)


@attrs.frozen
class AnswerDue:
    """The user has said something that no reply answers yet. `utterance`: the message's id."""

    utterance: str


@attrs.frozen
class NoiseEnded:
    """No transcript of the last voice has come: it was a noise."""


@attrs.frozen
class HeardByModel:
    """A realtime model has heard this utterance of the user: the next request answers it, or the
    model by itself."""

    utterance: str


@attrs.frozen
class AnswersByItself:
    """A realtime model replies without being asked. It answers all that the user has said; no
    request has asked it to deliver anything else."""

    reply: str


@attrs.frozen
class Answered:
    """These utterances were answered, or will never be."""

    utterances: tuple[str, ...] = attrs.field(converter=_names)


@attrs.frozen
class CallMade:
    """A reply has made a tool call: it delivers the result in a later step, if it goes on."""

    call: str
    reply: str


@attrs.frozen
class CallInBackground:
    """The tool goes on in the background. The framework asks for a reply with its result, or gives
    it to the next step of the reply that has made the call."""

    call: str


@attrs.frozen
class CallDetached:
    """Neither the reply that has made this call delivers its result, nor does the framework."""

    call: str


@attrs.frozen
class ResultReady:
    """The result of a call can be part of a request."""

    call: str


@attrs.frozen
class ResultMoot:
    """Nobody is to deliver the result of this call, for this reason."""

    call: str
    reason: str


@attrs.frozen
class ReplyAsked:
    """A reply is asked for.

    Attributes:
        utterances, results: What it is asked for.
        instructed: It says what the application wants said, and delivers nothing else.
    """

    reply: str
    utterances: tuple[str, ...] = attrs.field(default=(), converter=_names)
    results: tuple[str, ...] = attrs.field(default=(), converter=_names)
    instructed: bool = False

    def claims(self, kind: Kind, id: str) -> bool:
        """The reply is asked for to deliver this."""
        return id in (self.utterances if kind == "utterance" else self.results)


@attrs.frozen
class RequestSent:
    """The model is asked for a step of this reply.

    Attributes:
        shown: The calls whose results the request contains.
        named: With instructions of its own: the calls that these name. None without.
        answers: It answers what the user has said.
        unanswered: What stands last in the request, of what the user has said: also if no reply was
            asked for, it answers that.
    """

    reply: str
    shown: tuple[str, ...] = attrs.field(default=(), converter=_names)
    named: tuple[str, ...] | None = attrs.field(
        default=None, converter=attrs.converters.optional(_names)
    )
    answers: bool = True
    unanswered: tuple[str, ...] = attrs.field(default=(), converter=_names)


@attrs.frozen
class CallsKnown:
    """The model's stream for the last request of this reply has ended. `calls`: how many calls it
    asks for, of which some may not be made yet."""

    reply: str
    calls: int = 0


@attrs.frozen
class ReplyHeard:
    """The user has heard what the last request of this reply gave: to its end, or a part of it."""

    reply: str
    whole: bool = True


@attrs.frozen
class ReplyEnded:
    """Nothing more is heard of this reply.

    Attributes:
        by: What has ended it.
        call: The call that has interrupted its own reply.
    """

    reply: str
    by: Ending
    call: str | None = None


Entry = (
    AnswerDue
    | HeardByModel
    | NoiseEnded
    | AnswersByItself
    | Answered
    | CallMade
    | CallDetached
    | CallInBackground
    | ResultReady
    | ResultMoot
    | ReplyAsked
    | RequestSent
    | CallsKnown
    | ReplyHeard
    | ReplyEnded
)

_KINDS: Mapping[str, type[Any]] = {
    "answer_due": AnswerDue,
    "heard_by_model": HeardByModel,
    "noise_ended": NoiseEnded,
    "answers_by_itself": AnswersByItself,
    "answered": Answered,
    "call_made": CallMade,
    "call_detached": CallDetached,
    "call_in_background": CallInBackground,
    "result_ready": ResultReady,
    "result_moot": ResultMoot,
    "reply_asked": ReplyAsked,
    "request_sent": RequestSent,
    "calls_known": CallsKnown,
    "reply_heard": ReplyHeard,
    "reply_ended": ReplyEnded,
}
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
    """The entry that a note of a journal is about; None if it is about something else.

    Raises:
        TypeError: The data is not that of such a note.
    """
    made = _KINDS.get(kind)
    return None if made is None else made(**data)
