"""Makes every flow that differs from a given one in a single element, to test the proof."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import attrs

from turnfsm.fsm.agenda.settlement import FATES
from turnfsm.fsm.flow import Flow, Names, Row, Transition
from turnfsm.fsm.source import Path

__all__ = ["CELLS", "Mutant", "mutants"]

CELLS = "change a cell"
"""The operator that changes how a claim on the agenda settles."""


@attrs.frozen
class Mutant:
    """A changed flow.

    Attributes:
        id: What was changed and where. It is stable as long as the element exists.
        operator: The kind of change.
    """

    id: str
    operator: str
    flow: Flow


def mutants(flow: Flow) -> Iterator[Mutant]:
    """Every single-element mutant, in the order of the file; no two are the same flow."""
    seen = [flow]
    changes = _rows, _alternatives, _lasting, _added, _ignored
    makers = *changes, _facts, _fences, _scopes, _initial, _cells
    for make in makers:
        for mutant in make(flow):
            if mutant.flow not in seen:
                yield mutant


def _replace(flow: Flow, row: Row, *transitions: Transition) -> Flow:
    """Replace a row everywhere: a row of a group is changed in all its states."""
    changed = flow
    for name in _sharing(flow, row):
        state = changed.states[name]
        field = "after" if row.timer else "on"
        table = dict(getattr(state, field))
        there = table[row.trigger]
        table[row.trigger] = (*there[: row.index], *transitions, *there[row.index + 1 :])
        if not table[row.trigger]:
            del table[row.trigger]
        changed = _with(changed, "states", name, _evolve(state, field, table))
    return changed


def _sharing(flow: Flow, row: Row) -> list[str]:
    """The states that have a row from the same place in the file."""
    if flow.source is None:
        return [row.source]
    place = _place(flow, row.path)
    return [name for name in flow.states if _place(flow, ("states", name, *row.path[2:])) == place]


def _place(flow: Flow, path: Path) -> Path:
    """Where a row is written. A section such as `fillers` stands for rows of several states."""
    place = flow.source.path(path) if flow.source else path
    return place if place[0] in ("states", "groups") else path


def _written_rows(flow: Flow) -> Iterator[tuple[str, Row]]:
    """Each written row once, with its id. A row of a group has the group's name."""
    seen: set[object] = set()
    for row in flow.rows():
        place = _place(flow, row.path)
        if place not in seen:
            seen.add(place)
            yield f"{place[1]}.{row.trigger}.{row.index}", row


def _less(names: Names, gone: str) -> Names:
    return tuple(name for name in names if name != gone)


def _evolve(body: Any, field: str, value: object) -> Any:
    return attrs.evolve(body, **{field: value})


def _with(flow: Flow, section: str, name: str, body: object) -> Flow:
    changed: Flow = _evolve(flow, section, {**getattr(flow, section), name: body})
    return changed


def _rows(flow: Flow) -> Iterator[Mutant]:
    for name, row in _written_rows(flow):
        yield Mutant(f"drop {name}", "drop a row", _replace(flow, row))
        for operator, text, changed in _changes(flow, row):
            yield Mutant(f"{text} {name}", operator, _replace(flow, row, changed))


def _changes(flow: Flow, row: Row) -> Iterator[tuple[str, str, Transition]]:
    body = row.transition
    for field, other, kind in (
        ("conditions", "unless", "condition"),
        ("unless", "conditions", "unless"),
    ):
        for fact in getattr(body, field):
            rest = _evolve(body, field, _less(getattr(body, field), fact))
            yield "drop a guard", f"drop {kind} {fact} of", rest
            negated = _evolve(rest, other, (*getattr(body, other), fact))
            yield "negate a guard", f"negate {kind} {fact} of", negated
    for index, action in enumerate(body.actions):
        actions = (*body.actions[:index], *body.actions[index + 1 :])
        yield "drop an action", f"drop action {action} of", attrs.evolve(body, actions=actions)
    for dest in (None, *flow.states):
        if dest != body.dest:
            where = f"lead to {dest}" if dest else "stay inside"
            yield "retarget", f"{where}:", attrs.evolve(body, dest=dest, restarts=())
    for timer in body.restarts:
        changed = attrs.evolve(body, restarts=_less(body.restarts, timer))
        yield "drop a restart", f"drop restart of {timer} by", changed


def _alternatives(flow: Flow) -> Iterator[Mutant]:
    """Alternatives in another order, or a state's timer removed with all of them."""
    for (name, row), (_, following) in pairwise(_written_rows(flow)):
        if following.index == row.index + 1:
            swapped = _replace(_replace(flow, row, following.transition), following, row.transition)
            yield Mutant(f"swap {name} with the next", "swap alternatives", swapped)
    for name, state in flow.states.items():
        for timer in state.after:
            if len(state.after[timer]) > 1:
                rest = {t: rows for t, rows in state.after.items() if t != timer}
                changed = _with(flow, "states", name, attrs.evolve(state, after=rest))
                yield Mutant(f"drop timer {name}.{timer}", "drop a timer", changed)


def _lasting(flow: Flow) -> Iterator[Mutant]:
    """A lasting timer stops with its state, as others do."""
    for timer in flow.lasting:
        changed = attrs.evolve(flow, lasting=_less(flow.lasting, timer))
        yield Mutant(f"stop {timer} with its state", "stop a lasting timer", changed)


def _added(flow: Flow) -> Iterator[Mutant]:
    """An added transition where there is none: each one that another state has for that trigger."""
    for name, state in flow.states.items():
        for trigger in flow.triggers:
            if trigger in state.on:
                continue
            ignores = _less(state.ignores, trigger)
            for body in _borrowed(flow, trigger):
                on = {**state.on, trigger: (body,)}
                changed = _with(flow, "states", name, attrs.evolve(state, on=on, ignores=ignores))
                where = f" to {body.dest}" if body.dest else ""
                text = f" / {', '.join(body.actions)}" if body.actions else ""
                yield Mutant(f"add {name}.{trigger}{where}{text}", "add a transition", changed)


def _borrowed(flow: Flow, trigger: str) -> list[Transition]:
    bodies = [
        Transition(dest=row.transition.dest, actions=row.transition.actions)
        for row in flow.rows()
        if row.trigger == trigger and not row.timer
    ]
    return list(dict.fromkeys([Transition(), *bodies]))


def _ignored(flow: Flow) -> Iterator[Mutant]:
    for name, state in flow.states.items():
        for trigger in state.ignores:
            heeds = attrs.evolve(state, ignores=_less(state.ignores, trigger))
            changed = _with(flow, "states", name, heeds)
            yield Mutant(f"heed {trigger} in {name}", "drop an ignored event", changed)


def _facts(flow: Flow) -> Iterator[Mutant]:
    for name, fact in flow.facts.items():
        yield from _unnamed(flow, "facts", name, ("set_by", "cleared_by"), "drop a set or clear")
        if fact.scope in flow.scopes:
            changed = _with(flow, "facts", name, attrs.evolve(fact, scope="session"))
            yield Mutant(f"fact {name}: drop scope {fact.scope}", "drop a reset", changed)


def _unnamed(flow: Flow, section: str, name: str, fields: Names, operator: str) -> Iterator[Mutant]:
    """A fact or a scope that one of its triggers does not change."""
    body = getattr(flow, section)[name]
    for field in fields:
        for trigger in getattr(body, field):
            changed = _evolve(body, field, _less(getattr(body, field), trigger))
            where = f"{section[:-1]} {name}: drop {field} {trigger}"
            yield Mutant(where, operator, _with(flow, section, name, changed))


def _fences(flow: Flow) -> Iterator[Mutant]:
    for name, body in flow.triggers.items():
        if body.of is not None:
            changed = _with(flow, "triggers", name, attrs.evolve(body, of=None))
            yield Mutant(f"trigger {name}: drop of {body.of}", "drop a fence", changed)


def _scopes(flow: Flow) -> Iterator[Mutant]:
    for name in flow.scopes:
        yield from _unnamed(flow, "scopes", name, ("begins", "ends"), "drop a scope's end")


def _initial(flow: Flow) -> Iterator[Mutant]:
    for name in flow.states:
        if name != flow.initial:
            changed = attrs.evolve(flow, initial=name)
            yield Mutant(f"begin in {name}", "another beginning", changed)


def _cells(flow: Flow) -> Iterator[Mutant]:
    settle = flow.agenda.settle
    for row, cells in settle.items():
        for column, kept in cells.items():
            for fate in FATES:
                if fate != kept:
                    changed = {**settle, row: {**cells, column: fate}}
                    agenda = attrs.evolve(flow.agenda, settle=changed)
                    where = f"agenda {row}.{column}: {fate}"
                    yield Mutant(where, CELLS, attrs.evolve(flow, agenda=agenda))
