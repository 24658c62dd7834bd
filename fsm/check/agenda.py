"""Explores the agenda of a flow: can anything that the agent owes be forgotten, or come twice?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import attrs

from turnfsm.fsm.agenda import Rules
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.source import Source

from .agenda_world import RETRIES, Bounds, State, World

__all__ = ["AgendaReport", "Bounds", "agenda_findings", "explore_agenda"]


@attrs.frozen
class AgendaReport:
    """What the exploration has found.

    Attributes:
        states: How many states were visited.
        broken: The property that can be broken; empty if none can.
        why: What is wrong at the end of the path.
        path: The shortest way there, one sentence for each move.
    """

    states: int
    broken: str = ""
    why: str = ""
    path: tuple[str, ...] = ()


Wrong = tuple[str, str]


def _wrong(world: World, s: State) -> Wrong | None:
    """The property that is broken in this state, and how."""
    return _wrong_now(s) or _wrong_at_rest(world, s)


def _wrong_now(s: State) -> Wrong | None:
    live = {f"r{r}" for r in s.live}
    failed = {claim for (claim, _), times in s.failed if times >= RETRIES}
    if s.dropped is not None:
        return "nothing_unheard_is_dropped", f"{_named(*s.dropped)} is dropped, and was not heard"
    for o in s.agenda.obligations:
        if o.state == "claimed" and o.by not in live:
            return "no_claim_without_a_reply", f"{_named(o.kind, o.id)} is claimed by no reply"
        if o.state == "open" and (o.kind, o.id) in s.stopped:
            why = f"{_named(o.kind, o.id)} starts a reply, although that reply was stopped"
            return "what_was_stopped_stays_stopped", why
        if o.state == "open" and (o.kind, o.id) in failed:
            why = f"{_named(o.kind, o.id)} starts a reply, although {RETRIES} replies have failed"
            return "what_fails_is_not_retried_for_ever", why
    for n, times in enumerate(s.answered):
        if times > 1 or (times and n == 0 and any(call.made for call in s.calls)):
            return "an_utterance_is_answered_once", f"utterance {n} was answered twice"
    for n, call in enumerate(s.calls):
        if call.made > 1:
            return "no_call_is_made_twice", f"call {n} was made twice"
        if call.delivered > 1:
            return "a_result_is_delivered_once", f"the result of call {n} was delivered twice"
    return None


def _wrong_at_rest(world: World, s: State) -> Wrong | None:
    if s.voice or s.free is None or any(True for _ in world.moves(s)):
        return None
    for o in s.agenda.obligations:
        if o.state != "with_next" or (o.kind, o.id) not in s.may_wait:
            return "nothing_due_is_forgotten", f"{_named(o.kind, o.id)} is never delivered"
    for n, call in enumerate(s.calls):
        lost = call.made and not call.delivered and s.agenda.find("result", f"c{n}") is None
        if lost and ("result", f"c{n}") not in s.may_wait:
            return "nothing_due_is_forgotten", f"the result of call {n} is lost"
    return None


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
    world = World(rules, bounds or Bounds())
    first = world.first()
    came: dict[State, tuple[State, str] | None] = {first: None}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        if wrong := _wrong(world, state):
            return AgendaReport(len(came), *wrong, _path(came, state))
        for moves in (world.moves(state), world.disturbances(state)):
            for name, following in moves:
                if following not in came:
                    came[following] = state, name
                    queue.append(following)
    return AgendaReport(len(came))


def _path(came: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    path: list[str] = []
    while (step := came[state]) is not None:
        state, name = step
        path.append(name)
    return tuple(reversed(path))
