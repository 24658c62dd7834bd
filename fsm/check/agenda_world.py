"""The small world in which the agenda of a flow is explored: its states and its moves.

A few utterances, of which the first may ask for calls, and a few replies. The environment may act
at every point: a voice that is a noise, an interruption by the user, the application or a tool, a
limit, a newer result, an error, a handoff, the death of the worker. Models are obedient: they
answer what they are shown and nobody has answered, and deliver what their request asks for. After a
call a reply only delivers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from turnfsm.fsm.agenda import (
    Agenda,
    AnswerDue,
    CallMade,
    CallsKnown,
    Ending,
    Entry,
    Kind,
    Obligation,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    RequestSent,
    ResultReady,
    Rules,
)

__all__ = ["Bounds", "State", "World"]

RETRIES = 2
"""How many replies may fail to deliver one thing, until nothing is asked for it any more."""


@attrs.frozen
class Bounds:
    """How large the world is.

    Attributes:
        utterances: What the user says.
        calls: The calls that the model may make for the first utterance, all at once.
        replies: How many replies there may be.
        disturbances: How often the environment acts.
    """

    utterances: int = 2
    calls: int = 2
    replies: int = 4
    disturbances: int = 2


@attrs.frozen
class Reply:
    """A reply, and what its last request has asked for."""

    phase: str = "free"  # free, asked, sent, plays, waits, over
    asked_for: tuple[int, ...] | None = None  # the results that instructions of its own name
    answers: frozenset[int] = frozenset()  # the utterances that its model answers
    says: frozenset[int] = frozenset()  # the results that its request asks for

    @property
    def live(self) -> bool:
        """It may still be heard."""
        return self.phase not in ("free", "over")


@attrs.frozen
class Call:
    """A call for the first utterance."""

    made_by: int | None = None
    runs: bool = False
    made: int = 0
    delivered: int = 0


Claim = tuple[Kind, str]


@attrs.frozen
class State:
    """One situation of the world.

    Attributes:
        answered: How often each utterance was answered, without a call.
        stopped: What the user has stopped after a part of it, or the application: it starts no
            reply by itself until the next one has been asked for.
        may_wait: What may wait for a next reply that nobody asks for.
        failed: How many replies have failed in the same way to deliver each of these.
        dropped: What has left the agenda although the user has not heard of it.
    """

    agenda: Agenda
    replies: tuple[Reply, ...]
    calls: tuple[Call, ...]
    answered: tuple[int, ...]
    said: int = 0
    stopped: frozenset[Claim] = frozenset()
    may_wait: frozenset[Claim] = frozenset()
    failed: frozenset[tuple[tuple[Claim, Ending], int]] = frozenset()
    dropped: Claim | None = None
    voice: bool = False
    left: int = 0

    @property
    def live(self) -> list[int]:
        """The replies that may still be heard."""
        return [r for r, reply in enumerate(self.replies) if reply.live]

    @property
    def free(self) -> int | None:
        """A reply that was not asked for yet."""
        return next((r for r, reply in enumerate(self.replies) if reply.phase == "free"), None)


Move = tuple[str, State]


class World:
    """What may happen, and what must not.

    Args:
        rules: The agenda of a flow.
        bounds: How large the world is.
    """

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        self.rules, self.bounds = rules, bounds

    def first(self) -> State:
        """Nothing has happened."""
        most = self.bounds
        replies, calls = (Reply(),) * most.replies, (Call(),) * most.calls
        return State(Agenda(), replies, calls, (0,) * most.utterances, left=most.disturbances)

    # -- moves that need no disturbance

    def moves(self, s: State) -> Iterator[Move]:
        """What happens if nothing disturbs."""
        free = s.free
        if free is not None and not s.voice and not s.live and s.agenda.open:
            yield f"reply {free} delivers what is due", self._deliver(s, free)
        for r in s.live:
            yield from self._goes_on(s, r)
        for n, call in enumerate(s.calls):
            if call.runs:
                ended = self._call(s, n, attrs.evolve(call, runs=False))
                yield f"call {n} ends", self._log(ended, ResultReady(f"c{n}"))

    def _goes_on(self, s: State, r: int) -> Iterator[Move]:
        match s.replies[r].phase:
            case "asked":
                yield f"reply {r} asks the model", self._send(s, r)
            case "sent":
                yield f"the model answers reply {r}", self._stream(s, r)
                if 0 in s.replies[r].answers:
                    for most in range(1, self.bounds.calls + 1):
                        said = "a call" if most == 1 else f"{most} calls"
                        yield f"the model makes {said} in reply {r}", self._calls(s, r, most)
            case "plays":
                yield f"reply {r} is heard", self._heard(s, r)
            case "waits" if all(o.ready for o in s.agenda.claimed_by(f"r{r}")):
                if s.agenda.claimed_by(f"r{r}"):
                    yield f"reply {r} goes on", self._reply(s, r, phase="asked")
                else:
                    yield f"reply {r} ends", self._over(s, r, "finished")

    def _deliver(self, s: State, r: int) -> State:
        utterances = [o.id for o in s.agenda.open if o.kind == "utterance"]
        if utterances:
            return self._ask(s, r, utterances)
        results = [o.id for o in s.agenda.due if o.kind == "result"]
        s = self._ask(s, r, results=results)
        return self._reply(s, r, asked_for=tuple(int(id[1:]) for id in results))

    def _ask(
        self, s: State, r: int, utterances: Sequence[str] = (), results: Sequence[str] = ()
    ) -> State:
        asked = ReplyAsked(f"r{r}", utterances, results, instructed=bool(results))
        return self._log(self._reply(s, r, phase="asked"), asked)

    def _send(self, s: State, r: int) -> State:
        named = s.replies[r].asked_for
        shown = tuple(f"c{n}" for n, c in enumerate(s.calls) if c.made and not c.runs)
        request = RequestSent(
            f"r{r}",
            shown,
            None if named is None else tuple(f"c{n}" for n in named),
            answers=named is None,
        )
        s = self._log(s, request)
        if named is None:  # this is the next reply, and what it cannot deliver yet is due after it
            s = attrs.evolve(s, stopped=frozenset())
        masked = s.agenda.hidden_from(f"r{r}")
        unanswered = {n for n in range(s.said) if not s.answered[n]}
        if any(call.made for call in s.calls):
            unanswered -= {0}
        seen = [n for n in unanswered if f"u{n}" not in masked]
        says = {int(o.id[1:]) for o in s.agenda.requested_of(f"r{r}") if o.kind == "result"}
        delivers = named is not None or any(call.made_by == r for call in s.calls)
        answers = frozenset(() if delivers else seen)
        return self._reply(s, r, phase="sent", answers=answers, says=frozenset(says))

    def _stream(self, s: State, r: int) -> State:
        return self._reply(s, r, phase="plays")

    def _calls(self, s: State, r: int, most: int) -> State:
        s = self._log(s, CallsKnown(f"r{r}", most))
        for n, call in enumerate(s.calls[:most]):
            s = self._log(s, CallMade(f"c{n}", f"r{r}")) if not call.made else s
            made = attrs.evolve(call, made_by=r, runs=True, made=call.made + 1)
            s = self._call(s, n, made)
        return self._reply(s, r, phase="plays", answers=frozenset())

    def _heard(self, s: State, r: int) -> State:
        reply = s.replies[r]
        for n in reply.says:
            s = self._call(s, n, attrs.evolve(s.calls[n], delivered=s.calls[n].delivered + 1))
        answered = tuple(times + (n in reply.answers) for n, times in enumerate(s.answered))
        s = self._log(attrs.evolve(s, answered=answered), ReplyHeard(f"r{r}"))
        if s.agenda.claimed_by(f"r{r}"):
            return self._reply(s, r, phase="waits", asked_for=None, answers=frozenset())
        return self._over(s, r, "finished")

    # -- the environment

    def disturbances(self, s: State) -> Iterator[Move]:
        """What the environment may do."""
        if s.voice:
            yield "it was a noise", attrs.evolve(s, voice=False)
        free = s.free
        if free is None:
            return
        if s.said < self.bounds.utterances:
            yield f"the user says utterance {s.said}", self._turn(s, free)
        if not s.left or free + 1 == self.bounds.replies:
            return  # one reply is left for what is then due
        less = attrs.evolve(s, left=s.left - 1)
        for r in s.live:
            yield from self._ends(less, r)
        asked = attrs.evolve(less, stopped=frozenset())
        yield f"the application asks for reply {free}", self._ask(asked, free)
        if s.live:
            died = less
            for r in s.live:
                died = self._over(died, r, "crash")
            yield "the worker dies", died

    def _ends(self, s: State, r: int) -> Iterator[Move]:
        over = self._over(s, r, "user")
        yield f"a voice interrupts reply {r}", attrs.evolve(over, voice=True)
        yield f"the application interrupts reply {r}", self._over(s, r, "application")
        yield f"the agent of reply {r} is left", self._over(s, r, "agent_left")
        yield f"a limit ends reply {r}", self._over(s, r, "limit")
        if s.agenda.superseded(f"r{r}"):
            yield f"a result supersedes reply {r}", self._over(s, r, "result")
        if s.replies[r].phase in ("sent", "plays"):
            yield f"reply {r} fails", self._over(s, r, "failure")
        if s.replies[r].phase == "plays":
            heard = self._log(s, ReplyHeard(f"r{r}", whole=False))
            over = attrs.evolve(self._over(heard, r, "user"), voice=True)
            yield f"the user interrupts reply {r}, and has heard a part of it", over
            over = self._over(heard, r, "application")
            yield f"the application interrupts reply {r}, of which a part was heard", over
        for n, call in enumerate(s.calls):
            if call.runs and call.made_by == r:
                yield f"call {n} interrupts reply {r}", self._over(s, r, "tool", f"c{n}")

    def _turn(self, s: State, r: int) -> State:
        for live in s.live:
            s = self._over(s, live, "user")
        utterance = f"u{s.said}"
        s = attrs.evolve(s, said=s.said + 1, voice=False, stopped=frozenset())
        return self._ask(self._log(s, AnswerDue(utterance)), r, [utterance])

    # -- inside

    def _over(self, s: State, r: int, by: Ending, call: str | None = None) -> State:
        live = s.agenda.reply(f"r{r}")
        heard = live is not None and live.heard
        claims = [o for o in s.agenda.claimed_by(f"r{r}") if o.id != call]
        ended = self._reply(self._log(s, ReplyEnded(f"r{r}", by, call)), r, phase="over")
        begun = {(o.kind, o.id) for o in claims if heard and o.state == "claimed" and _begun(o)}
        ended = self._note_dropped(ended, claims, begun)
        if by in ("failure", "limit"):
            ended = self._note_failed(ended, by, claims)
        if by == "application":
            ended = attrs.evolve(ended, stopped=ended.stopped | {(o.kind, o.id) for o in claims})
        if by == "tool" and call is not None:  # it says itself what comes of it
            ended = attrs.evolve(ended, stopped=ended.stopped | {("result", call)})
        if by == "user":
            ended = attrs.evolve(ended, stopped=ended.stopped | begun)
        if by in ("application", "failure", "limit", "tool") or heard:
            named = {(o.kind, o.id) for o in claims}
            named |= {("result", call)} if call is not None else set()
            ended = attrs.evolve(ended, may_wait=ended.may_wait | named)
        return ended

    def _note_dropped(self, s: State, claims: list[Obligation], begun: set[Claim]) -> State:
        for o in claims:
            if s.agenda.find(o.kind, o.id) is None and (o.kind, o.id) not in begun:
                s = attrs.evolve(s, dropped=(o.kind, o.id))
        return s

    def _note_failed(self, s: State, by: Ending, claims: list[Obligation]) -> State:
        failed = dict(s.failed)
        for o in claims:
            if o.requested or o.kind == "utterance":
                key: tuple[Claim, Ending] = (o.kind, o.id), by
                failed[key] = failed.get(key, 0) + 1
        return attrs.evolve(s, failed=frozenset(failed.items()))

    def _log(self, s: State, entry: Entry) -> State:
        return attrs.evolve(s, agenda=s.agenda.after(entry, self.rules))

    def _reply(self, s: State, r: int, **changed: Any) -> State:
        reply = attrs.evolve(s.replies[r], **changed)
        return attrs.evolve(s, replies=(*s.replies[:r], reply, *s.replies[r + 1 :]))

    def _call(self, s: State, n: int, call: Call) -> State:
        return attrs.evolve(s, calls=(*s.calls[:n], call, *s.calls[n + 1 :]))


def _begun(o: Obligation) -> bool:
    return o.requested or o.kind == "utterance"
