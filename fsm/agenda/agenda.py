"""The agenda, computed from the log's entries alone. It is hashable, so the checker can explore
it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import attrs

from .entries import (
    AnswerDue,
    Answered,
    AnswersByItself,
    CallCancelled,
    CallDetached,
    CallInBackground,
    CallMade,
    CallsReceived,
    Entry,
    HeardByModel,
    MessageTyped,
    NoiseEnded,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    ReplyStopped,
    RequestSent,
    ResultDropped,
    ResultReady,
    SpeechInterrupted,
    TurnCommitted,
)
from .obligation import Obligation, Reply
from .settlement import Kind, Row, Rules, row_of

__all__ = ["Agenda"]


Change = Callable[[Obligation], Obligation | None]


@attrs.frozen
class Agenda:
    """What the agent has yet to deliver, and the live replies that will do so.

    Example:
        >>> from turnfsm import load_flow
        >>> rules = load_flow("turn").agenda
        >>> agenda = Agenda().after(AnswerDue("message"), rules)
        >>> agenda = agenda.after(ReplyAsked("reply", utterances=["message"]), rules)
        >>> agenda.open, agenda.claimed_by("reply")[0].id
        ((), 'message')
    """

    obligations: tuple[Obligation, ...] = ()
    replies: tuple[Reply, ...] = ()

    def find(self, kind: Kind, id: str) -> Obligation | None:
        return next((o for o in self.obligations if (o.kind, o.id) == (kind, id)), None)

    def reply(self, id: str) -> Reply | None:
        return next((reply for reply in self.replies if reply.id == id), None)

    @property
    def open(self) -> tuple[Obligation, ...]:
        """The obligations that start a reply when the floor is free.

        None while a live reply will deliver all that is due.
        """
        ready = tuple([o for o in self.obligations if o.state == "open" and o.ready])
        return () if ready and self._asks_for_all else ready

    @property
    def undecided(self) -> bool:
        """An obligation starts a reply if the interruption of the last reply is not answered."""
        return any(o.undecided and o.ready for o in self.obligations) and not self._asks_for_all

    @property
    def due(self) -> tuple[Obligation, ...]:
        """What the next request must deliver."""
        return tuple(o for o in self.obligations if o.due)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The utterances that still need a request."""
        return tuple(
            o.id for o in self.obligations if o.kind == "utterance" and not (o.requested or o.waits)
        )

    @property
    def unclaimed(self) -> tuple[str, ...]:
        """The utterances that need an answer, and that no reply answers yet, nor a realtime model
        by itself."""
        utterances = (o for o in self.due if o.kind == "utterance")
        return tuple(o.id for o in utterances if o.state != "with_model")

    def claimed_by(self, reply: str) -> tuple[Obligation, ...]:
        """What this reply delivers."""
        return tuple([o for o in self.obligations if o.by == reply])

    def requested_of(self, reply: str) -> tuple[Obligation, ...]:
        """The obligations in the last request of this reply."""
        return tuple(o for o in self.claimed_by(reply) if o.requested)

    def may_call_for_utterance(self, reply: str) -> bool:
        """This reply answers an utterance, and its model may still make calls for that."""
        live = self.reply(reply)
        if live is None or not live.may_call:
            return False
        return any(o.kind == "utterance" or o.made_by == reply for o in self.claimed_by(reply))

    def outdated(self, reply: str) -> bool:
        """This answer was not heard yet, and a result has arrived that its request lacks, so a new
        request could deliver both. True at most once for an utterance."""
        live = self.reply(reply)
        if live is None or not live.requested or live.heard:
            return False
        if not any(o.kind == "result" for o in self.open):
            return False
        claims = [o for o in self.claimed_by(reply) if o.kind == "utterance"]
        return bool(claims) and not any(o.failures for o in claims)

    def hidden_from(self, reply: str) -> frozenset[str]:
        """The utterances left out of a request of this reply, because another live reply answers
        them.

        A call takes over its utterance, so the call's own reply always sees the utterance. A reply
        that answers an utterance also sees those whose replies will make no calls.
        """
        answers = any(o.kind == "utterance" for o in self.claimed_by(reply))
        earlier = takewhile(lambda other: other.id != reply, self.replies)
        before = {other.id for other in earlier if answers and not other.may_call}
        return frozenset(
            o.id
            for o in self.obligations
            if o.kind == "utterance" and o.by not in (None, reply, *before)
        )

    def delivers(self, reply: str) -> tuple[str, ...]:
        """The results that its last request delivers: those of other replies, then its own.

        Empty if it delivers only its own: these follow its calls, and need no hint.
        """
        requested = [o for o in self.requested_of(reply) if o.kind == "result"]
        others = [o.id for o in requested if o.made_by != reply]
        own = [o.id for o in requested if o.made_by == reply]
        return (*others, *own) if others else ()

    def delivered_elsewhere(self, reply: str) -> tuple[str, ...]:
        """The results that other live replies will deliver.

        Until its own calls have ended, a reply delivers only what is in its last request.
        """
        results = [o for o in self.obligations if o.kind == "result" and o.by not in (None, reply)]
        waiting = {o.by for o in results if not o.ready}
        return tuple(o.id for o in results if o.ready and (o.requested or o.by not in waiting))

    def after(self, entry: Entry, rules: Rules) -> Agenda:
        """The agenda after one more entry."""
        match entry:
            case AnswerDue(id):
                due = self._with(Obligation("utterance", id))
                return due._each(lambda o: o.after_utterance(id))
            case TurnCommitted() | MessageTyped() | NoiseEnded():
                return self._interruption_ended(answered=not isinstance(entry, NoiseEnded))
            case HeardByModel(id):
                return self._with(Obligation("utterance", id, "with_model"))
            case AnswersByItself(reply):
                return self._answers_by_itself(reply)
            case Answered(utterances=ids):
                return self._each(lambda o: None if o.kind == "utterance" and o.id in ids else o)
            case CallMade(call, reply):
                return self._call_made(call, reply)
            case CallInBackground(call):
                return self._result(call, Obligation.in_background)
            case CallDetached(call):
                return self._result(call, Obligation.detached)
            case CallCancelled(call):
                return self._result(call, lambda o: attrs.evolve(o, cancelled=True))
            case ResultReady(call, cancelled):
                return self._result(call, lambda o: o.arrived(cancelled=cancelled))
            case ResultDropped(call):
                return self._result(call, lambda o: None)
            case ReplyAsked():
                return self._reply_asked(entry)
            case RequestSent():
                return self._request_sent(entry)
            case CallsReceived(reply, calls):
                live = self.reply(reply)
                return self if live is None else self._with_reply(attrs.evolve(live, calls=calls))
            case ReplyHeard(reply, whole=True):
                return self._settled(reply, "heard", rules, only_requested=True)
            case ReplyHeard(reply):
                live = self.reply(reply)
                return self if live is None else self._with_reply(attrs.evolve(live, heard=True))
            case SpeechInterrupted(speech, by, turn) if live := self.reply(speech):
                answered = True if turn else live.answered
                return self._with_reply(attrs.evolve(live, interrupted_by=by, answered=answered))
            case ReplyStopped(reply, by, own) if live := self.reply(reply):
                return self._with_reply(attrs.evolve(live, stopped=live.stopped or (by, own)))
            case ReplyEnded():
                return self._reply_ended(entry, rules)
            case _:
                return self

    # -- inside

    @property
    def _asks_for_all(self) -> bool:
        """A live reply will deliver all that is due."""
        return any(not (reply.requested or reply.instructed) for reply in self.replies)

    def _with(self, obligation: Obligation) -> Agenda:
        if self.find(obligation.kind, obligation.id) is not None:
            return self
        return attrs.evolve(self, obligations=(*self.obligations, obligation))

    def _each(self, change: Change) -> Agenda:
        changed = [change(o) for o in self.obligations]
        return Agenda(tuple([o for o in changed if o is not None]), self.replies)

    def _result(self, call: str, change: Change) -> Agenda:
        return self._each(lambda o: change(o) if (o.kind, o.id) == ("result", call) else o)

    def _with_reply(self, changed: Reply) -> Agenda:
        replies = [changed if reply.id == changed.id else reply for reply in self.replies]
        return Agenda(self.obligations, tuple(replies))

    def _interruption_ended(self, *, answered: bool) -> Agenda:
        """The interrupted reply may not have ended yet."""
        replies = [
            attrs.evolve(reply, answered=answered) if reply.interrupted_by else reply
            for reply in self.replies
        ]
        settled = self._each(lambda o: o.after_interruption(answered=answered))
        return attrs.evolve(settled, replies=tuple(replies))

    def _call_made(self, call: str, reply: str) -> Agenda:
        """From now on the utterance is answered by delivering the result, unless it will be
        requested again: a superseded reply may still make a call while it is being stopped. Earlier
        utterances, whose own replies were not heard, still need an answer."""
        live = self.reply(reply)
        again = live is not None and live.superseded
        asked = live.answers if live is not None else ()  # nothing in particular: all
        result = Obligation(
            "result",
            call,
            "claimed" if live else "open",
            reply if live else None,
            ready=False,
            made_by=reply,
        )
        remaining = tuple(
            o
            for o in self.obligations
            if (o.kind, o.id) != ("result", call)
            and (again or o.kind != "utterance" or o.by != reply or (asked and o.id not in asked))
        )
        agenda = attrs.evolve(self, obligations=(*remaining, result))
        return agenda._with_reply(attrs.evolve(live, made=live.made + 1)) if live else agenda

    def _answers_by_itself(self, reply: str) -> Agenda:
        def claim(o: Obligation) -> Obligation | None:
            if o.kind == "utterance" and o.due:
                return attrs.evolve(o, state="claimed", by=reply, requested=True)
            if o.waits:
                return attrs.evolve(o, state="open")
            return o.after_interruption(answered=True)

        claimed = self._reply_asked(ReplyAsked(reply))._each(claim)
        sole = len(claimed.claimed_by(reply)) == 1
        return claimed._with_reply(Reply(reply, requested=True, sole=sole))

    def _reply_asked(self, entry: ReplyAsked) -> Agenda:
        agenda, live = self, self.reply(entry.reply)
        if live is None:
            live = Reply(entry.reply, entry.instructed)
            agenda = attrs.evolve(self, replies=(*self.replies, live))
        if new := [id for id in entry.utterances if id not in live.answers]:
            answers = *live.answers, *new
            agenda = agenda._with_reply(attrs.evolve(live, answers=answers))

        def claim(o: Obligation) -> Obligation:
            if o.state == "claimed" or not entry.claims(o.kind, o.id):
                return o
            return attrs.evolve(o, state="claimed", by=entry.reply, requested=False)

        return agenda._each(claim)

    def _request_sent(self, entry: RequestSent) -> Agenda:
        """Ignore a request that was interrupted before it was sent."""
        if (reply := self.reply(entry.reply)) is None:
            return self
        others = entry.shown if entry.named is None else entry.named
        passed = entry.named is None and entry.answers

        def claim(o: Obligation) -> Obligation:
            if o.by == entry.reply:
                has_it = o.made_by != entry.reply or o.id in entry.shown
                return attrs.evolve(o, requested=o.ready and has_it)
            # whatever it was requested for, its model may answer a message that no reply starts for
            answers = passed or (o.waits and o.id in entry.unanswered)
            delivers = o.id in others if o.kind == "result" else answers
            # the framework's own reply claims it, instead of the reply that has made the call
            free = o.due or (o.background and o.ready and not o.requested and entry.named)
            if not (free and delivers):
                # this is the next reply; what it cannot deliver yet will start its own reply
                stopped = o.waits and not o.background
                return attrs.evolve(o, state="open") if passed and stopped else o
            return attrs.evolve(o, state="claimed", by=entry.reply, requested=True)

        claimed = self
        for utterance in entry.unanswered if passed else ():
            claimed = claimed._with(Obligation("utterance", utterance))
        claimed = claimed._each(claim)
        also_answers = entry.named is not None and entry.answers
        sole = len(claimed.requested_of(entry.reply)) == 1 and not also_answers
        step = attrs.evolve(reply, requested=True, heard=False, sole=sole, made=0, calls=None)
        return claimed._with_reply(step)

    def _reply_ended(self, entry: ReplyEnded, rules: Rules) -> Agenda:
        reply = self.reply(entry.reply)
        row = row_of(entry.by, heard=reply is not None and reply.heard)
        settled = self._settled(entry.reply, row, rules, own=entry.call)
        if reply is not None and (answered := reply.answered) is not None:
            settled = settled._each(lambda o: o.after_interruption(answered=answered))
        replies = tuple(reply for reply in settled.replies if reply.id != entry.reply)
        return attrs.evolve(settled, replies=replies)

    def _settled(
        self,
        reply: str,
        row: Row,
        rules: Rules,
        *,
        own: str | None = None,
        only_requested: bool = False,
    ) -> Agenda:
        live = self.reply(reply)
        sole, fates = live is not None and live.sole, rules.settle[row]
        answers = live.answers if live is not None else ()

        def settle(o: Obligation) -> Obligation | None:
            if o.by != reply or (only_requested and not o.requested):
                return o
            fate = fates[column := o.column(own, sole=sole)]
            if column == "cancelled_result" and not o.ready:
                o, fate = attrs.evolve(o, if_cancelled=fate), fates["pending_result"]
            if row == "speculation_dropped" and o.kind == "utterance" and o.id not in answers:
                fate = "open"  # it was committed before the speculation
            return o.settled(fate)

        return self._each(settle)
