"""Proves the agenda of a flow: no obligation is forgotten or delivered twice.

The table is explored twice: by itself, where any reply may start, and together with the rows of the
turn, which decide what may start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from math import inf

import attrs

from turnfsm.fsm.agenda.settlement import Rules
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.source import Source
from turnfsm.fsm.tuning import Tuning

from .agenda_parts import Bounds, Deliveries, Table, rules_of, table_of
from .agenda_world import RETRIES, State, World
from .cause import placed
from .explore import way_to
from .joint import Joint, Situation
from .joint_rest import Spot, Unasked, longest_rest

__all__ = [
    "ALONE",
    "JOINT",
    "REST",
    "AgendaReport",
    "Bounds",
    "agenda_finding",
    "explore_agenda",
    "explore_joint",
    "explore_table",
]

ALONE = (
    Bounds(utterances=2, calls=2, replies=3, disturbances=1),
    Bounds(utterances=2, calls=1, replies=3, disturbances=2),
    Bounds(utterances=2, calls=1, replies=4, disturbances=1),
)
"""The sizes of the worlds in which `check` explores the table by itself."""

JOINT = Bounds(utterances=2, calls=1, replies=2, disturbances=1)
"""The size of the world in which `check` explores turn and agenda together."""

REST = "nothing_open_waits_at_rest"


@attrs.frozen
class AgendaReport:
    """The result of an exploration.

    Attributes:
        states: How many states were visited.
        broken: The property that can be broken; empty if none can.
        why: What is wrong at the end of the path.
        path: The shortest path to it, one sentence for each move.
        rest: The longest wait for a request at rest, if turn and agenda were explored together and
            an obligation can wait.
    """

    states: int
    broken: str = ""
    why: str = ""
    path: tuple[str, ...] = ()
    rest: Unasked | None = None


Wrong = tuple[str, str]


def agenda_finding(report: AgendaReport, source: Source) -> Finding:
    """The finding, with the shortest conversation that shows it."""
    way = "; ".join(report.path)
    message = f"{report.broken}: {report.why}. The shortest way there: {way}"
    if report.rest is not None:
        remedy = "add a timer that ends the wait whatever the host answers"
        return placed(source, ("states", report.rest.state), (), message, "agenda", remedy)
    remedy = "change what becomes of that claim in the row of the table that ends this conversation"
    return source.at_key(("agenda", "settle"), message, remedy, code="agenda")


def explore_table(rules: Rules) -> AgendaReport:
    """Explore the table of an agenda by itself, as `check` does."""
    return _explored(table_of(rules))


@lru_cache(maxsize=16)
def _explored(table: Table) -> AgendaReport:
    """Flows that extend another one usually have the same table."""
    rules, states = rules_of(table), 0
    for bounds in ALONE:
        report = explore_agenda(rules, bounds)
        states += report.states
        if report.broken:
            return report
    return AgendaReport(states)


def explore_agenda(rules: Rules, bounds: Bounds) -> AgendaReport:
    """Visit every state of the small world in which any reply may start, breadth-first, for the
    shortest path to a broken property."""
    world = World(rules, bounds)
    first = world.first()
    came: dict[State, tuple[State, str] | None] = {first: None}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        wrong = _wrong_deliveries(state.deliveries) or _wrong_now(state)
        if wrong := wrong or _wrong_at_rest(world, state):
            path = tuple(name for _, name in way_to(state, came))
            return AgendaReport(len(came), *wrong, path)
        for moves in (world.moves(state), world.disturbances(state)):
            for name, following in moves:
                if following not in came:
                    came[following] = state, name
                    queue.append(following)
    return AgendaReport(len(came))


def explore_joint(flow: Flow, bounds: Bounds = JOINT) -> AgendaReport:
    """Visit every situation of the small world of turn and agenda, breadth-first, for the
    shortest path to a broken property; otherwise for the longest wait at rest."""
    report, spots = _joined(_Joined(_as_read(flow)), bounds)
    if report.broken:
        return report
    rest = longest_rest(flow, spots)
    if rest is None or rest.seconds < inf:
        return attrs.evolve(report, rest=rest)
    path = *spots[rest.spot], *rest.moves
    waiting = "what is due" if rest.spot.open or rest.spot.undecided else "the deferred turn"
    why = f"it is not certain that a reply is requested for {waiting}: {rest.why}"
    return AgendaReport(report.states, REST, why, path, rest)


def _as_read(flow: Flow) -> Flow:
    """The part of a flow that decides what happens: without seconds, tuning and properties."""
    states = {name: attrs.evolve(state, tuning=Tuning()) for name, state in flow.states.items()}
    timers = dict.fromkeys(flow.timers, 1.0)
    fields = ("kind", "scopes", "triggers", "facts", "lasting", "actions", "agenda")
    rest = {name: getattr(flow, name) for name in fields}
    return Flow("", flow.initial, states, timers=timers, **rest)


@attrs.frozen(hash=False)
class _Joined:
    """A flow as a key: the hash only tells most flows apart."""

    flow: Flow

    def __hash__(self) -> int:
        return hash((*self.flow.states, *self.flow.triggers))


@lru_cache(maxsize=8)
def _joined(of: _Joined, bounds: Bounds) -> tuple[AgendaReport, Mapping[Spot, tuple[str, ...]]]:
    """The exploration, with the path to each spot at rest. Flows that extend another one, and a
    file that is edited, often differ in what is not read here."""
    joint, judged = Joint(of.flow, bounds), set[int]()
    spots: dict[Spot, Situation] = {}
    for situation in joint.explore():
        if situation[1] not in judged:
            judged.add(situation[1])
            if wrong := _wrong_deliveries(joint.deliveries(situation)):
                return AgendaReport(len(joint.came), *wrong, joint.path(situation)), {}
        if (spot := joint.rests(situation)) is not None:
            spots.setdefault(spot, situation)
    paths = {spot: joint.path(situation) for spot, situation in spots.items()}
    return AgendaReport(len(joint.came)), paths


# -- broken properties


def _wrong_deliveries(s: Deliveries) -> Wrong | None:
    live = {f"r{r}" for r in s.live}
    for o in s.agenda.obligations:
        if o.state == "claimed" and o.by not in live:
            return "no_claim_without_a_reply", f"{_named(o.kind, o.id)} is claimed by no reply"
    for n, times in enumerate(s.answered):
        if times > 1 or (times and n == 0 and any(call.made for call in s.calls)):
            return "an_utterance_is_answered_once", f"utterance {n} was answered twice"
        due = s.agenda.find("utterance", f"u{n}")
        if times and due is not None and due.state == "open":
            why = f"utterance {n} was answered, and starts a reply again"
            return "an_utterance_is_answered_once", why
    for n, call in enumerate(s.calls):
        if call.made > 1:
            return "no_call_is_made_twice", f"call {n} was made twice"
        if call.delivered > 1:
            return "a_result_is_delivered_once", f"the result of call {n} was delivered twice"
    return None


def _wrong_now(s: State) -> Wrong | None:
    failed = {claim for (claim, _), times in s.failed if times >= RETRIES}
    if s.dropped is not None:
        return "nothing_unheard_is_dropped", f"{_named(*s.dropped)} is dropped, and was not heard"
    for o in s.deliveries.agenda.obligations:
        if o.state == "open" and (o.kind, o.id) in s.stopped:
            why = f"{_named(o.kind, o.id)} starts a reply, although that reply was stopped"
            return "what_was_stopped_stays_stopped", why
        if o.state == "open" and (o.kind, o.id) in failed:
            why = f"{_named(o.kind, o.id)} starts a reply, although {RETRIES} replies have failed"
            return "what_fails_is_not_retried_for_ever", why
    return None


def _wrong_at_rest(world: World, s: State) -> Wrong | None:
    deliveries = s.deliveries
    if s.voice or deliveries.free is None or any(True for _ in world.moves(s)):
        return None
    for o in deliveries.agenda.obligations:
        if o.state != "with_next" or (o.kind, o.id) not in s.may_wait:
            return "nothing_due_is_forgotten", f"{_named(o.kind, o.id)} is never delivered"
    for n, call in enumerate(deliveries.calls):
        lost = (
            call.made and not call.delivered and deliveries.agenda.find("result", f"c{n}") is None
        )
        covered = call.cancelled and ("result", f"c{n}") in s.covered
        if lost and not covered and ("result", f"c{n}") not in s.may_wait:
            return "nothing_due_is_forgotten", f"the result of call {n} is lost"
    return None


def _named(kind: str, id: str) -> str:
    return f"utterance {id[1:]}" if kind == "utterance" else f"the result of call {id[1:]}"
