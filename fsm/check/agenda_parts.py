"""The replies, calls and utterances of a small world, and their possible changes.

Models are obedient: they answer the unanswered utterances in their request, and deliver what it
asks for. After a call a reply only delivers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs

from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import (
    AnswerDue,
    CallCancelled,
    CallDetached,
    CallMade,
    CallsReceived,
    Entry,
    NoiseEnded,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    RequestSent,
    ResultReady,
    SpeechInterrupted,
    TurnCommitted,
)
from turnfsm.fsm.agenda.settlement import Ending, Fate, Rules

__all__ = ["Bounds", "Call", "Deliveries", "Parts", "Reply", "Table", "rules_of", "table_of"]

Table: TypeAlias = tuple[tuple[str, tuple[tuple[str, Fate], ...]], ...]
"""The table of an agenda, as a key."""


def table_of(rules: Rules) -> Table:
    return tuple((row, tuple(cells.items())) for row, cells in rules.settle.items())


def rules_of(table: Table) -> Rules:
    return Rules({row: dict(cells) for row, cells in table})


@attrs.frozen
class Bounds:
    """The size of the world.

    Attributes:
        utterances: The number of utterances.
        calls: The number of calls that the model may make for the first utterance, all at once.
        replies: The number of replies.
        disturbances: How often the environment acts.
    """

    utterances: int = 2
    calls: int = 2
    replies: int = 4
    disturbances: int = 2


@attrs.frozen
class Reply:
    """A reply, and the content of its last request."""

    phase: str = "free"  # free, asked, sent, plays, waits, over
    asked_for: tuple[int, ...] | None = None  # the results named in its own instructions
    answers: frozenset[int] = frozenset()  # the utterances that the model answers
    says: frozenset[int] = frozenset()  # the results that its request delivers

    @property
    def live(self) -> bool:
        return self.phase not in ("free", "over")


@attrs.frozen
class Call:
    """A call for the first utterance."""

    made_by: int | None = None
    runs: bool = False
    cancelled: bool = False
    made: int = 0
    delivered: int = 0


@attrs.frozen(cache_hash=True)
class Deliveries:
    """The agenda, with the replies, calls and utterances that it is about.

    Attributes:
        answered: How often each utterance was answered, without a call.
        utterances: The number of utterances so far.
    """

    agenda: Agenda
    replies: tuple[Reply, ...]
    calls: tuple[Call, ...]
    answered: tuple[int, ...]
    utterances: int = 0

    @property
    def live(self) -> list[int]:
        return [r for r, reply in enumerate(self.replies) if reply.live]

    @property
    def free(self) -> int | None:
        """A reply that was not requested yet."""
        return next((r for r, reply in enumerate(self.replies) if reply.phase == "free"), None)


class Parts:
    """The possible changes of the replies, calls and utterances."""

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        self.rules, self.bounds = rules, bounds

    def nothing(self) -> Deliveries:
        most = self.bounds
        replies, calls = (Reply(),) * most.replies, (Call(),) * most.calls
        return Deliveries(Agenda(), replies, calls, (0,) * most.utterances)

    def commit(self, s: Deliveries) -> Deliveries:
        """A turn of the user is committed."""
        return self._log(s, TurnCommitted(1))

    def said(self, s: Deliveries, times: int = 1) -> Deliveries:
        """The user has said this number of utterances, and wants an answer."""
        for n in range(s.utterances, s.utterances + times):
            s = self._log(s, AnswerDue(f"u{n}"))
        return attrs.evolve(s, utterances=s.utterances + times)

    def deliver(self, s: Deliveries, r: int) -> Deliveries:
        """A reply is requested that delivers what is due: an answer first, then the results."""
        utterances = [o.id for o in s.agenda.open if o.kind == "utterance"]
        if utterances:
            return self.ask(s, r, *utterances)
        results = [o.id for o in s.agenda.due if o.kind == "result"]
        if not results:
            return s
        s = self.ask(s, r, results=results)
        return self._reply(s, r, asked_for=tuple(int(id[1:]) for id in results))

    def ask(
        self, s: Deliveries, r: int, *utterances: str, results: Sequence[str] = ()
    ) -> Deliveries:
        entry = ReplyAsked(f"r{r}", utterances, results, instructed=bool(results))
        return self._log(self._reply(s, r, phase="asked"), entry)

    def send(self, s: Deliveries, r: int) -> Deliveries:
        """A request of a reply is sent to the model."""
        named = s.replies[r].asked_for
        shown = tuple(f"c{n}" for n, c in enumerate(s.calls) if c.made and not c.runs)
        request = RequestSent(
            f"r{r}",
            shown,
            None if named is None else tuple(f"c{n}" for n in named),
            answers=named is None,
        )
        s = self._log(s, request)
        masked = s.agenda.hidden_from(f"r{r}")
        unanswered = {n for n in range(s.utterances) if not s.answered[n]}
        if any(call.made for call in s.calls):
            unanswered -= {0}
        claimed = {o.id: o.by for o in s.agenda.obligations}
        # the answer of another reply without calls is heard before
        seen = [
            n
            for n in unanswered - {int(u[1:]) for u in masked}
            if claimed.get(f"u{n}") in (None, f"r{r}")
        ]
        says = {int(o.id[1:]) for o in s.agenda.requested_of(f"r{r}") if o.kind == "result"}
        delivers = named is not None or any(call.made_by == r for call in s.calls)
        answers = frozenset(() if delivers else seen)
        return self._with(s, r, Reply("sent", answers=answers, says=frozenset(says)))

    def stream(self, s: Deliveries, r: int) -> Deliveries:
        """The model has answered without a call."""
        s = self._log(s, CallsReceived(f"r{r}"))
        return self._reply(s, r, phase="plays")

    def make(self, s: Deliveries, r: int, most: int) -> Deliveries:
        """The model makes this number of calls."""
        s = self._log(s, CallsReceived(f"r{r}", most))
        for n, call in enumerate(s.calls[:most]):
            s = self._log(s, CallMade(f"c{n}", f"r{r}")) if not call.made else s
            made = attrs.evolve(call, made_by=r, runs=True, made=call.made + 1)
            s = self._call(s, n, made)
        return self._reply(s, r, phase="plays", answers=frozenset())

    def cancel(self, s: Deliveries, n: int) -> Deliveries:
        """A call is being cancelled with its turn."""
        cancelled = self._call(s, n, attrs.evolve(s.calls[n], cancelled=True))
        return self._log(cancelled, CallCancelled(f"c{n}"))

    def end_call(self, s: Deliveries, n: int, cancelled: bool = False) -> Deliveries:
        """A call has ended, and its result can be part of a request."""
        ended = attrs.evolve(s.calls[n], runs=False, cancelled=cancelled)
        return self._log(self._call(s, n, ended), ResultReady(f"c{n}", cancelled))

    def detach(self, s: Deliveries, n: int) -> Deliveries:
        """The model was told that a call is still running, so the reply does not wait for it."""
        return self._log(s, CallDetached(f"c{n}"))

    def noise(self, s: Deliveries) -> Deliveries:
        """Speech got no transcript."""
        return self._log(s, NoiseEnded())

    def interrupt(self, s: Deliveries, r: int, by: Ending) -> Deliveries:
        """A reply is interrupted, and winds down."""
        return self._log(s, SpeechInterrupted(f"r{r}", by))

    def begin(self, s: Deliveries, r: int) -> Deliveries:
        """The user has heard a part of the last step."""
        return self._log(s, ReplyHeard(f"r{r}", whole=False))

    def hear(self, s: Deliveries, r: int) -> Deliveries:
        """The user has heard the whole step. The reply continues when its calls have ended."""
        reply = s.replies[r]
        for n in reply.says:
            s = self._call(s, n, attrs.evolve(s.calls[n], delivered=s.calls[n].delivered + 1))
        answered = tuple(times + (n in reply.answers) for n, times in enumerate(s.answered))
        s = self._log(attrs.evolve(s, answered=answered), ReplyHeard(f"r{r}"))
        if s.agenda.claimed_by(f"r{r}"):
            return self._with(s, r, Reply("waits"))
        return self.end(s, r, "finished")

    def go_on(self, s: Deliveries, r: int) -> Deliveries:
        """All calls of a reply have ended."""
        if s.agenda.claimed_by(f"r{r}"):
            return self._reply(s, r, phase="asked")
        return self.end(s, r, "finished")

    def may_go_on(self, s: Deliveries, r: int) -> bool:
        """A reply waits for calls, and all of them have ended."""
        ready = all(o.ready for o in s.agenda.claimed_by(f"r{r}"))
        return ready and s.replies[r].phase == "waits"

    def end(self, s: Deliveries, r: int, by: Ending, call: str | None = None) -> Deliveries:
        s = self._log(s, ReplyEnded(f"r{r}", by, call))
        return self._with(s, r, Reply("over"))

    # -- inside

    def _log(self, s: Deliveries, entry: Entry) -> Deliveries:
        agenda = s.agenda.after(entry, self.rules)  # `evolve` would take a third of the exploration
        return Deliveries(agenda, s.replies, s.calls, s.answered, s.utterances)

    def _reply(self, s: Deliveries, r: int, **changed: Any) -> Deliveries:
        return self._with(s, r, attrs.evolve(s.replies[r], **changed))

    def _with(self, s: Deliveries, r: int, reply: Reply) -> Deliveries:
        replies = (*s.replies[:r], reply, *s.replies[r + 1 :])
        return Deliveries(s.agenda, replies, s.calls, s.answered, s.utterances)

    def _call(self, s: Deliveries, n: int, call: Call) -> Deliveries:
        calls = (*s.calls[:n], call, *s.calls[n + 1 :])
        return Deliveries(s.agenda, s.replies, calls, s.answered, s.utterances)
