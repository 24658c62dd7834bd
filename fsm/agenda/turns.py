"""How each turn of the user ends, computed from the log's entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import attrs

from .agenda import Agenda
from .entries import (
    Entry,
    NoReply,
    PlayoutStarted,
    ReplyAsked,
    ReplyScheduled,
    SessionClosed,
    SpeechEnded,
    SpeechFailed,
    SpeechInterrupted,
    TurnCommitted,
    TurnNotCommitted,
)

__all__ = ["OUTCOMES", "OpenTurn", "Outcome", "TurnEnd", "Turns"]

Outcome = Literal["replied", "silent", "superseded", "dropped"]
"""How a turn ends. ``replied``: audio of its reply was heard, or text where there is no audio.
``silent``: its reply has ended by itself without audio, such as a handoff. ``superseded``: a newer
turn was committed before anything was heard. ``dropped``: it gets no reply, or the reply failed or
was interrupted before anything was heard."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

_NEWER = "a newer turn was committed"
_CLOSED = "the session closed"
_LATER = "it is answered later"
_NO_REPLY = "no reply was generated"
_SILENT = "its reply had nothing to be heard"
_INTERRUPTED = "its reply was interrupted before it was heard"


@attrs.frozen
class OpenTurn:
    """A committed turn of whose reply nothing was heard yet.

    Attributes:
        number: Its number in the session.
        deferred: It had been deferred.
        speech: Its reply; empty until that is scheduled.
        message: The id of its message, if its reply has it.
        failure: What has failed in the reply, as a sentence; empty if nothing has.
        by_user: The user has interrupted the reply.
        over: The reply has ended, and the user goes on, or another reply will answer.
    """

    number: int
    deferred: bool = False
    speech: str = ""
    message: str = ""
    failure: str = ""
    by_user: bool = False
    over: bool = False


@attrs.frozen
class TurnEnd:
    """A turn has ended.

    Attributes:
        turn: The turn.
        outcome: How it ended.
        why: The reason; empty if it was replied to.
        latest: No newer turn was committed, or deferred in its place.
    """

    turn: OpenTurn
    outcome: Outcome
    why: str = ""
    latest: bool = False

    @property
    def later(self) -> bool:
        """It is deferred again, to be committed later under another number."""
        return self.why == _LATER


Step = tuple["Turns", tuple[TurnEnd, ...]]


@attrs.frozen
class Turns:
    """The turns of a session.

    Attributes:
        open: Those that have not ended, in order.
        latest: The number of the last one that was committed.
        count: How many numbers were given.
        failed: The speech that has failed last, and how.
        outcomes: How many turns have ended in each way.

    Example:
        >>> from turnfsm.fsm.agenda.entries import PlayoutStarted, ReplyScheduled, TurnCommitted
        >>> turns, agenda = Turns(), Agenda()
        >>> for entry in (TurnCommitted(1), ReplyScheduled(1, "reply"), PlayoutStarted("reply")):
        ...     turns, ended = turns.after(entry, agenda)
        >>> ended[0].outcome, turns.open, turns.outcomes["replied"]
        ('replied', (), 1)
    """

    open: tuple[OpenTurn, ...] = ()
    latest: int = 0
    count: int = 0
    failed: tuple[str, str] = ("", "")
    outcomes: Mapping[str, int] = attrs.field(factory=lambda: dict.fromkeys(OUTCOMES, 0))

    @classmethod
    def continued(cls, outcomes: Mapping[str, int]) -> Turns:
        """Those of a session in which so many turns have ended with earlier workers."""
        counts: dict[str, int] = {how: outcomes.get(how, 0) for how in OUTCOMES}
        return cls(count=sum(counts.values()), outcomes=counts)

    def find(self, number: int) -> OpenTurn | None:
        return next((turn for turn in self.open if turn.number == number), None)

    def answered_by(self, speech: str) -> OpenTurn | None:
        return next((turn for turn in self.open if turn.speech == speech), None)

    def after(self, entry: Entry, agenda: Agenda) -> Step:
        """The turns after one more entry, which is in the agenda, and those that it ends."""
        match entry:
            case TurnCommitted(number, deferred):
                now_open = *self.open, OpenTurn(number, deferred)
                later = attrs.evolve(self, open=now_open, latest=number, count=number)
                over = [turn for turn in self.open if turn.over]
                return later._ended(TurnEnd(turn, "superseded", _NEWER) for turn in over)
            case TurnNotCommitted(number, dropped):
                deferred_turn = OpenTurn(number, deferred=True)
                end = TurnEnd(deferred_turn, "superseded", _NEWER)
                if dropped:
                    end = TurnEnd(deferred_turn, "dropped", _CLOSED)
                return attrs.evolve(self, count=number)._ended([end])
            case ReplyScheduled(number, speech, message) if turn := self.find(number):
                failure = self.failed[1] if self.failed[0] == speech else ""
                return self._with(
                    attrs.evolve(turn, speech=speech, message=message, failure=failure)
                )
            case ReplyAsked(speech, utterances):
                return self._asked(speech, utterances, agenda)
            case NoReply(number, later=again) if turn := self.find(number):
                if again:
                    return self._end(turn, "superseded", _LATER)
                if number != self.latest:
                    return self._end(turn, "superseded", _NEWER)
                return self._end(turn, "dropped", _NO_REPLY)
            case PlayoutStarted(speech) if turn := self.answered_by(speech):
                return self._end(turn, "replied")
            case SpeechInterrupted(speech, by) if turn := self.answered_by(speech):
                return self._with(attrs.evolve(turn, by_user=by == "user"))
            case SpeechFailed(speech, failure):
                failed = attrs.evolve(self, failed=(speech, failure))
                turn = self.answered_by(speech)
                return failed._with(attrs.evolve(turn, failure=failure)) if turn else (failed, ())
            case SpeechEnded(speech) if turn := self.answered_by(speech):
                return self._speech_ended(turn, entry, agenda)
            case SessionClosed():
                return self._ended(
                    TurnEnd(turn, "dropped", _CLOSED, turn.number == self.latest)
                    for turn in self.open
                )
        return self, ()

    # -- inside

    def _asked(self, speech: str, utterances: tuple[str, ...], agenda: Agenda) -> Step:
        """A reply answers a turn for the first time, or after one that nobody has heard."""
        turns = self
        for turn in self.open if utterances else ():
            if turn.speech == speech:
                turns, _ = turns._with(attrs.evolve(turn, message=utterances[0]))
            elif turn.message in utterances:
                due = agenda.find("utterance", turn.message)
                if due is not None and due.by == speech:
                    again = attrs.evolve(turn, speech=speech, by_user=False, over=False)
                    turns, _ = turns._with(again)
        return turns, ()

    def _speech_ended(self, turn: OpenTurn, ended: SpeechEnded, agenda: Agenda) -> Step:
        if ended.newer or turn.number != self.latest:
            return self._end(turn, "superseded", _NEWER)
        if turn.failure or ended.closing:
            return self._end(turn, "dropped", turn.failure or _CLOSED)
        if not ended.interrupted:
            return self._end(turn, "silent", _SILENT)
        due = agenda.find("utterance", turn.message)
        if turn.by_user or (due is not None and due.state != "with_next"):
            return self._with(attrs.evolve(turn, over=True))
        return self._end(turn, "dropped", _INTERRUPTED)

    def _with(self, changed: OpenTurn) -> Step:
        turns = [changed if turn.number == changed.number else turn for turn in self.open]
        return attrs.evolve(self, open=tuple(turns)), ()

    def _end(self, turn: OpenTurn, outcome: Outcome, why: str = "") -> Step:
        return self._ended([TurnEnd(turn, outcome, why, turn.number == self.latest)])

    def _ended(self, ends: Iterable[TurnEnd]) -> Step:
        ended = tuple(ends)
        over = {end.turn.number for end in ended}
        outcomes = dict(self.outcomes)
        for end in ended:
            outcomes[end.outcome] += 1
        still = tuple(turn for turn in self.open if turn.number not in over)
        return attrs.evolve(self, open=still, outcomes=outcomes), ended
