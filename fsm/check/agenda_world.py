"""The small world in which the table of an agenda is explored by itself: its states and its moves.

A few utterances, the first of which may cause calls, and a few replies. The environment may act at
every point: a noise, an interruption by the user, the application or a tool, a limit, a newer
result, an error, a handoff, the death of the worker. Which reply has the floor does not matter
here; that is checked in `joint`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import Any

import attrs

from turnfsm.fsm.agenda.obligation import Obligation
from turnfsm.fsm.agenda.settlement import Ending, Kind, Rules

from .agenda_parts import Bounds, Deliveries, Parts

__all__ = ["RETRIES", "Bounds", "State", "World"]

RETRIES = 2
"""After how many failed replies an obligation must start no more replies."""

Claim = tuple[Kind, str]


@attrs.frozen(cache_hash=True)
class State:
    """One situation of the world.

    Attributes:
        stopped: The claims that the application has stopped, or the user after hearing a part. They
            start no reply before the next request.
        may_wait: The claims that may wait for a next reply, however long.
        failed: How many replies have failed in the same way to deliver each claim.
        dropped: The claim that has left the agenda unheard.
        begun: The claims of which the user has heard a part when they interrupted, and the results
            of calls that were cancelled then.
        covered: The results of cancelled calls whose interruption was answered.
        left: How many disturbances may still come.
    """

    deliveries: Deliveries
    stopped: frozenset[Claim] = frozenset()
    may_wait: frozenset[Claim] = frozenset()
    failed: frozenset[tuple[tuple[Claim, Ending], int]] = frozenset()
    dropped: Claim | None = None
    begun: frozenset[Claim] = frozenset()
    covered: frozenset[Claim] = frozenset()
    voice: bool = False
    left: int = 0


Move = tuple[str, State]


class World:
    """The possible moves, and their effects."""

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        self.bounds = bounds
        self.parts = Parts(rules, bounds)
        self._changed: dict[tuple[Any, ...], Deliveries] = {}
        self._same: dict[Deliveries, Deliveries] = {}  # one object for equal values

    def first(self) -> State:
        return State(self.parts.nothing(), left=self.bounds.disturbances)

    # -- moves that need no disturbance

    def moves(self, s: State) -> Iterator[Move]:
        deliveries, free = s.deliveries, s.deliveries.free
        if free is not None and deliveries.agenda.open:
            requested = self._after(s, self.parts.deliver, free)
            claims = {(o.kind, o.id) for o in requested.deliveries.agenda.claimed_by(f"r{free}")}
            requested = attrs.evolve(requested, stopped=requested.stopped - claims)
            yield f"reply {free} delivers what is due", requested
        for r in deliveries.live:
            yield from self._goes_on(s, r)
        for n, call in enumerate(deliveries.calls):
            if call.cancelled and call.runs:
                ended = self._after(s, self.parts.end_call, n, True)
                yield f"call {n} is cancelled", ended
            if call.runs:
                yield f"call {n} ends", self._after(s, self.parts.end_call, n)

    def _goes_on(self, s: State, r: int) -> Iterator[Move]:
        reply, parts = s.deliveries.replies[r], self.parts
        match reply.phase:
            case "asked":
                sent = self._after(s, parts.send, r)
                # this is the next reply; obligations that it cannot deliver yet are due after it
                named = reply.asked_for is not None
                yield f"reply {r} asks the model", sent if named else _start_again(sent)
            case "sent":
                yield f"the model answers reply {r}", self._after(s, parts.stream, r)
                if 0 in reply.answers:
                    for most in range(1, self.bounds.calls + 1):
                        text = "a call" if most == 1 else f"{most} calls"
                        called = self._after(s, parts.make, r, most)
                        yield f"the model makes {text} in reply {r}", called
            case "plays":
                yield f"reply {r} is heard", self._after(s, parts.hear, r)
            case "waits" if parts.may_go_on(s.deliveries, r):
                goes_on = "goes on" if s.deliveries.agenda.claimed_by(f"r{r}") else "ends"
                yield f"reply {r} {goes_on}", self._after(s, parts.go_on, r)

    # -- the environment

    def disturbances(self, s: State) -> Iterator[Move]:
        if s.voice:
            yield "it was a noise", self._noise(s)
        free = s.deliveries.free
        if free is None:
            return
        if s.deliveries.utterances < self.bounds.utterances:
            yield f"the user says utterance {s.deliveries.utterances}", self._turn(s, free)
        if not s.left:
            return
        less = attrs.evolve(s, left=s.left - 1)
        for r in s.deliveries.live:
            yield from self._ends(less, r)
        requested = self._after(_start_again(less), self.parts.ask, free)
        yield f"the application asks for reply {free}", requested
        if s.deliveries.live:
            died = less
            for r in s.deliveries.live:
                died = self._over(died, r, "crash")
            yield "the worker dies", died

    def _ends(self, s: State, r: int) -> Iterator[Move]:
        phase = s.deliveries.replies[r].phase
        yield from self._is_interrupted(s, r, "")
        if (cancelled := self._cancelled(s, r)) != s:
            yield from self._is_interrupted(cancelled, r, ", which cancels its calls")
        if s.deliveries.agenda.outdated(f"r{r}"):
            yield f"a result supersedes reply {r}", self._over(s, r, "result")
        if phase in ("sent", "plays"):
            yield f"reply {r} fails", self._over(s, r, "failure")
        if phase == "waits":
            yield f"reply {r} ends without another step", self._over(s, r, "finished")
        for n, call in enumerate(s.deliveries.calls):
            if call.runs and call.made_by == r:
                yield f"call {n} interrupts reply {r}", self._over(s, r, "tool", f"c{n}")
            if call.runs and call.made_by == r and phase == "plays":
                over = self._over(self._after(s, self.parts.begin, r), r, "tool", f"c{n}")
                yield f"call {n} interrupts reply {r}, of which a part was heard", over

    def _is_interrupted(self, s: State, r: int, also: str) -> Iterator[Move]:
        over = self._over(s, r, "user")
        yield f"a voice interrupts reply {r}{also}", attrs.evolve(over, voice=True)
        yield f"the application interrupts reply {r}{also}", self._over(s, r, "application")
        yield f"the agent of reply {r} is left{also}", self._over(s, r, "agent_left")
        yield f"a limit ends reply {r}{also}", self._over(s, r, "limit")
        if s.deliveries.replies[r].phase == "plays":
            heard, part = self._after(s, self.parts.begin, r), f"of which a part was heard{also}"
            over = attrs.evolve(self._over(heard, r, "user"), voice=True)
            yield f"the user interrupts reply {r}, {part}", over
            over = self._over(heard, r, "application")
            yield f"the application interrupts reply {r}, {part}", over

    def _cancelled(self, s: State, r: int) -> State:
        """The calls of a reply are being cancelled."""
        for n, call in enumerate(s.deliveries.calls):
            if call.runs and call.made_by == r:
                s = self._after(s, self.parts.cancel, n)
        return s

    def _noise(self, s: State) -> State:
        """After a noise, a claim that the table reopens was not stopped by the user."""
        quiet = attrs.evolve(s, voice=False, begun=frozenset())
        ended = self._after(quiet, self.parts.noise)
        before = s.deliveries.agenda.obligations
        opened = set(ended.deliveries.agenda.obligations) - set(before)
        still = s.stopped - {(o.kind, o.id) for o in opened}
        return attrs.evolve(ended, stopped=still)

    def _turn(self, s: State, r: int) -> State:
        for live in s.deliveries.live:
            s = self._over(s, live, "user")
        utterance = f"u{s.deliveries.utterances}"
        claims = [o for o in s.deliveries.agenda.obligations if o.state != "claimed"]
        quiet = attrs.evolve(_start_again(s), voice=False, begun=frozenset())
        calls = s.deliveries.calls
        covered = {
            (kind, id) for kind, id in s.begun if kind == "result" and calls[int(id[1:])].cancelled
        }
        quiet = attrs.evolve(quiet, covered=s.covered | covered)
        committed = self._after(quiet, self.parts.commit)
        committed = self._note_dropped(committed, claims, s.begun)
        uttered = self._after(committed, self.parts.said)
        return self._after(uttered, self.parts.ask, r, utterance)

    # -- inside

    def _after(self, s: State, happens: Callable[..., Deliveries], *about: Any) -> State:
        key = happens.__name__, s.deliveries, *about
        cached = self._changed.get(key)
        if cached is None:
            changed = happens(s.deliveries, *about)
            cached = self._changed[key] = self._same.setdefault(changed, changed)
        return attrs.evolve(s, deliveries=cached)

    def _over(self, s: State, r: int, by: Ending, call: str | None = None) -> State:
        agenda = s.deliveries.agenda
        live = agenda.reply(f"r{r}")
        heard = live is not None and live.heard
        claims = [o for o in agenda.claimed_by(f"r{r}") if o.id != call]
        ended = self._after(s, self.parts.end, r, by, call)
        sole = live is not None and live.sole
        # the heard part was about one obligation: the others may not have been heard
        begun = {
            (o.kind, o.id)
            for o in claims
            if heard and (o.kind == "utterance" or (o.requested and sole))
        }
        # until it is known whether a voice was a noise, the rest of a result is not dropped
        kept = {(kind, id) for kind, id in begun if by != "user" or kind == "utterance"}
        begun |= {(o.kind, o.id) for o in claims if o.cancelled}
        ended = self._note_dropped(ended, claims, kept)
        ended = attrs.evolve(ended, begun=ended.begun | begun) if by == "user" else ended
        if by in ("failure", "limit"):
            ended = self._note_failed(ended, by, claims)
        if by == "application":
            ended = attrs.evolve(ended, stopped=ended.stopped | {(o.kind, o.id) for o in claims})
        if by == "tool" and call is not None:  # the tool itself reports the outcome
            ended = attrs.evolve(ended, stopped=ended.stopped | {("result", call)})
        if by == "user":
            named = {(o.kind, o.id) for o in claims if heard and (o.requested or not o.made_by)}
            ended = attrs.evolve(ended, stopped=ended.stopped | named)
        may_wait = {(o.kind, o.id) for o in claims if _may_wait(ended, o, by, heard=heard)}
        may_wait |= {("result", call)} if call is not None else set()
        return attrs.evolve(ended, may_wait=ended.may_wait | may_wait)

    def _note_dropped(self, s: State, claims: list[Obligation], begun: Set[Claim]) -> State:
        for o in claims:
            if s.deliveries.agenda.find(o.kind, o.id) is None and (o.kind, o.id) not in begun:
                s = attrs.evolve(s, dropped=(o.kind, o.id))
        return s

    def _note_failed(self, s: State, by: Ending, claims: list[Obligation]) -> State:
        failed = dict(s.failed)
        for o in claims:
            if o.requested or o.kind == "utterance":
                key: tuple[Claim, Ending] = (o.kind, o.id), by
                failed[key] = failed.get(key, 0) + 1
        return attrs.evolve(s, failed=frozenset(failed.items()))


def _start_again(s: State) -> State:
    """The next reply was requested: from now on, stopped claims may start one again."""
    return attrs.evolve(s, stopped=frozenset())


def _may_wait(s: State, o: Obligation, by: Ending, *, heard: bool) -> bool:
    requested = o.requested or o.kind == "utterance"
    if by == "failure" and o.kind == "result" and requested:
        return any(times >= RETRIES for (c, _), times in s.failed if c == (o.kind, o.id))
    if by == "tool":
        return o.kind == "utterance"
    return by == "application" or (requested and (heard or by in ("failure", "limit")))
