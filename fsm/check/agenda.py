"""Explores the agenda of a flow: can anything that the agent owes be forgotten, or come twice?

The world is small: two utterances, each asks for one call, and a few replies. The environment may
act at every point: a voice that is a noise, an interruption by the user, the application or a tool,
an error, a handoff, the death of the worker. Models are obedient: they answer what they are shown
and nobody has answered, and deliver what their request asks for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from turnfsm.fsm.agenda import (
    Agenda,
    AnswerDue,
    CallMade,
    Ending,
    Entry,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    RequestSent,
    ResultReady,
    Rules,
)
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.source import Source

__all__ = ["AgendaReport", "Bounds", "agenda_findings", "explore_agenda"]


@attrs.frozen
class Bounds:
    """How large the world is.

    Attributes:
        utterances: What the user says; each asks for one call.
        replies: How many replies there may be.
        disturbances: How often the environment acts.
    """

    utterances: int = 2
    replies: int = 4
    disturbances: int = 2


@attrs.frozen
class AgendaReport:
    """What the exploration has found.

    Attributes:
        broken: The property that can be broken; empty if none can.
        why: What is wrong at the end of the path.
        path: The shortest way there, one sentence for each move.
        states: How many states were visited.
    """

    states: int
    broken: str = ""
    why: str = ""
    path: tuple[str, ...] = ()


@attrs.frozen
class _Reply:
    phase: str = "free"  # free, asked, sent, plays, waits, over
    asked_for: tuple[int, ...] | None = None  # the results that instructions of its own name
    answers: frozenset[int] = frozenset()  # the utterances for which its model makes calls
    says: frozenset[int] = frozenset()  # the results that its request asks for

    @property
    def live(self) -> bool:
        return self.phase not in ("free", "over")


@attrs.frozen
class _Call:
    made_by: int | None = None
    runs: bool = False
    made: int = 0
    delivered: int = 0


@attrs.frozen
class _State:
    agenda: Agenda
    replies: tuple[_Reply, ...]
    calls: tuple[_Call, ...]
    said: int = 0
    stopped: frozenset[tuple[str, str]] = frozenset()  # what the application or an error has ended
    voice: bool = False
    left: int = 0


Move = tuple[str, "_State"]


class _World:
    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        self.rules, self.bounds = rules, bounds

    def first(self) -> _State:
        replies = (_Reply(),) * self.bounds.replies
        calls = (_Call(),) * self.bounds.utterances
        return _State(Agenda(), replies, calls, left=self.bounds.disturbances)

    # -- moves that need no disturbance

    def moves(self, s: _State) -> Iterator[Move]:
        free = self._free(s)
        if free is not None and not s.voice and not self._live(s) and s.agenda.open:
            yield f"reply {free} delivers what is due", self._deliver(s, free)
        for r in self._live(s):
            yield from self._goes_on(s, r)
        for n, call in enumerate(s.calls):
            if call.runs:
                ended = self._call(s, n, attrs.evolve(call, runs=False))
                yield f"call {n} ends", self._log(ended, ResultReady(f"c{n}"))

    def _goes_on(self, s: _State, r: int) -> Iterator[Move]:
        match s.replies[r].phase:
            case "asked":
                yield f"reply {r} asks the model", self._send(s, r)
            case "sent":
                yield f"the model answers reply {r}", self._stream(s, r)
            case "plays":
                yield f"reply {r} is heard", self._heard(s, r)
            case "waits" if all(o.ready for o in s.agenda.claimed_by(f"r{r}")):
                if s.agenda.claimed_by(f"r{r}"):
                    yield f"reply {r} goes on", self._reply(s, r, phase="asked")
                else:
                    yield f"reply {r} ends", self._over(s, r, "finished")

    def _deliver(self, s: _State, r: int) -> _State:
        utterances = [o.id for o in s.agenda.open if o.kind == "utterance"]
        if utterances:
            return self._ask(s, r, utterances)
        results = [o.id for o in s.agenda.due if o.kind == "result"]
        s = self._ask(s, r, results=results)
        return self._reply(s, r, asked_for=tuple(int(id[1:]) for id in results))

    def _ask(
        self, s: _State, r: int, utterances: Sequence[str] = (), results: Sequence[str] = ()
    ) -> _State:
        asked = ReplyAsked(f"r{r}", utterances, results, instructed=bool(results))
        return self._log(self._reply(s, r, phase="asked"), asked)

    def _send(self, s: _State, r: int) -> _State:
        named = s.replies[r].asked_for
        shown = tuple(f"c{n}" for n, c in enumerate(s.calls) if c.made and not c.runs)
        s = self._log(
            s,
            RequestSent(
                f"r{r}",
                shown,
                None if named is None else tuple(f"c{n}" for n in named),
                answers=named is None,
            ),
        )
        masked = s.agenda.hidden_from(f"r{r}")
        seen = [n for n in range(s.said) if f"u{n}" not in masked and not s.calls[n].made]
        says = {int(o.id[1:]) for o in s.agenda.requested_of(f"r{r}") if o.kind == "result"}
        answers = frozenset(seen if named is None else ())
        return self._reply(s, r, phase="sent", answers=answers, says=frozenset(says))

    def _stream(self, s: _State, r: int) -> _State:
        for n in sorted(s.replies[r].answers):
            call = s.calls[n]
            s = self._log(s, CallMade(f"c{n}", f"r{r}")) if not call.made else s
            made = attrs.evolve(call, made_by=r, runs=True, made=call.made + 1)
            s = self._call(s, n, made)
        return self._reply(s, r, phase="plays")

    def _heard(self, s: _State, r: int) -> _State:
        for n in s.replies[r].says:
            s = self._call(s, n, attrs.evolve(s.calls[n], delivered=s.calls[n].delivered + 1))
        s = self._log(s, ReplyHeard(f"r{r}"))
        if s.agenda.claimed_by(f"r{r}"):
            return self._reply(s, r, phase="waits", asked_for=None)
        return self._over(s, r, "finished")

    # -- the environment

    def disturbances(self, s: _State) -> Iterator[Move]:
        if s.voice:
            yield "it was a noise", attrs.evolve(s, voice=False)
        free = self._free(s)
        if free is None:
            return
        if s.said < self.bounds.utterances:
            yield f"the user says utterance {s.said}", self._turn(s, free)
        if not s.left or free + 1 == self.bounds.replies:
            return  # one reply is left for what is then due
        less = attrs.evolve(s, left=s.left - 1)
        for r in self._live(s):
            yield from self._ends(less, r)
        yield f"the application asks for reply {free}", self._ask(less, free)
        if self._live(s):
            died = less
            for r in self._live(s):
                died = self._over(died, r, "crash")
            yield "the worker dies", died

    def _ends(self, s: _State, r: int) -> Iterator[Move]:
        over = self._over(s, r, "user")
        yield f"a voice interrupts reply {r}", attrs.evolve(over, voice=True)
        yield f"the application interrupts reply {r}", self._over(s, r, "application")
        yield f"the agent of reply {r} is left", self._over(s, r, "agent_left")
        if s.replies[r].phase in ("sent", "plays"):
            yield f"reply {r} fails", self._over(s, r, "failure")
        if s.replies[r].phase == "plays":
            heard = self._log(s, ReplyHeard(f"r{r}", whole=False))
            over = attrs.evolve(self._over(heard, r, "user"), voice=True)
            yield f"the user interrupts reply {r}, and has heard a part of it", over
        for n, call in enumerate(s.calls):
            if call.runs and call.made_by == r:
                over = self._over(s, r, "tool", f"c{n}")
                over = attrs.evolve(over, stopped=over.stopped | {("result", f"c{n}")})
                yield f"call {n} interrupts reply {r}", over

    def _turn(self, s: _State, r: int) -> _State:
        for live in self._live(s):
            s = self._over(s, live, "user")
        utterance = f"u{s.said}"
        s = attrs.evolve(s, said=s.said + 1, voice=False)
        return self._ask(self._log(s, AnswerDue(utterance)), r, [utterance])

    # -- inside

    def _over(self, s: _State, r: int, by: Ending, call: str | None = None) -> _State:
        live = s.agenda.reply(f"r{r}")
        if by in ("application", "failure", "tool") or (live is not None and live.heard):
            claims = {(o.kind, o.id) for o in s.agenda.claimed_by(f"r{r}")}
            s = attrs.evolve(s, stopped=s.stopped | claims)
        return self._reply(self._log(s, ReplyEnded(f"r{r}", by, call)), r, phase="over")

    def _log(self, s: _State, entry: Entry) -> _State:
        return attrs.evolve(s, agenda=s.agenda.after(entry, self.rules))

    def _reply(self, s: _State, r: int, **changed: Any) -> _State:
        reply = attrs.evolve(s.replies[r], **changed)
        return attrs.evolve(s, replies=(*s.replies[:r], reply, *s.replies[r + 1 :]))

    def _call(self, s: _State, n: int, call: _Call) -> _State:
        return attrs.evolve(s, calls=(*s.calls[:n], call, *s.calls[n + 1 :]))

    def _free(self, s: _State) -> int | None:
        return next((r for r, reply in enumerate(s.replies) if reply.phase == "free"), None)

    def _live(self, s: _State) -> list[int]:
        return [r for r, reply in enumerate(s.replies) if reply.live]

    # -- properties

    def wrong(self, s: _State) -> tuple[str, str]:
        """The property that is broken in this state, and how."""
        live = {f"r{r}" for r in self._live(s)}
        for o in s.agenda.obligations:
            if o.state == "claimed" and o.by not in live:
                return "no_claim_without_a_reply", f"{_named(o.kind, o.id)} is claimed by no reply"
        for n, call in enumerate(s.calls):
            if call.made > 1:
                return "no_call_is_made_twice", f"call {n} was made twice"
            if call.delivered > 1:
                return "a_result_is_delivered_once", f"the result of call {n} was delivered twice"
        if s.voice or self._free(s) is None or any(True for _ in self.moves(s)):
            return "", ""
        for o in s.agenda.obligations:
            if o.state != "with_next" or (o.kind, o.id) not in s.stopped:
                return "nothing_due_is_forgotten", f"{_named(o.kind, o.id)} is never delivered"
        for n, call in enumerate(s.calls):
            due = s.agenda.find("result", f"c{n}") is not None
            if (
                call.made
                and not call.delivered
                and not due
                and ("result", f"c{n}") not in s.stopped
            ):
                return "nothing_due_is_forgotten", f"the result of call {n} is lost"
        return "", ""


def agenda_findings(flow: Flow, source: Source) -> Iterator[Finding]:
    """What is wrong with the agenda of a flow, with the shortest conversation that shows it."""
    if not flow.agenda.settle:
        return
    found = explore_agenda(flow.agenda, Bounds(replies=3))
    if found.broken:
        message = f"{found.broken}: {found.why}. The shortest way there: {'; '.join(found.path)}"
        remedy = "change what becomes of that claim in the last row of this way"
        yield source.at_key(("agenda", "settle"), message, remedy, code="agenda")


def _named(kind: str, id: str) -> str:
    return f"utterance {id[1:]}" if kind == "utterance" else f"the result of call {id[1:]}"


def explore_agenda(rules: Rules, bounds: Bounds | None = None) -> AgendaReport:
    """Visit every state of the small world, breadth first.

    Args:
        rules: The agenda of a flow.
        bounds: How large the world is.

    Returns:
        What was found: the shortest path to a broken property, if there is one.
    """
    world = _World(rules, bounds or Bounds())
    first = world.first()
    came: dict[_State, tuple[_State, str] | None] = {first: None}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        broken, why = world.wrong(state)
        if broken:
            return AgendaReport(len(came), broken, why, _path(came, state))
        for moves in (world.moves(state), world.disturbances(state)):
            for name, following in moves:
                if following not in came:
                    came[following] = state, name
                    queue.append(following)
    return AgendaReport(len(came))


def _path(came: dict[_State, tuple[_State, str] | None], state: _State) -> tuple[str, ...]:
    path: list[str] = []
    while (step := came[state]) is not None:
        state, name = step
        path.append(name)
    return tuple(reversed(path))
