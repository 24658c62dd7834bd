"""Finds parts of a flow that are never reached, taken or used, and states that are traps. Needs no
property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, near
from turnfsm.fsm.flow import Always, Fact, Flow, Names, Never, Row
from turnfsm.fsm.load import load_shipped
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Location, Source

from .explore import Exploration
from .parts import Bits, Rule
from .space import StateSpace

__all__ = ["aside_facts", "deadlocks", "structure_findings"]


def aside_facts(flow: Flow, bits: Bits, rules: Iterable[Rule]) -> Names:
    """The facts that may be assumed to be true or false at any time, like host facts.

    They guard only transitions that stay in their state, restart only timers with such transitions,
    and choose actions that no property is about, such as saying a text. This over-approximates the
    flow, and these facts do not multiply the number of configurations.

    Args:
        rules: All rules that are proved.
    """
    if flow.kind != "turn":
        return ()
    proved = {*load_shipped("turn").actions, *(rule.action for rule in flow.properties.never)}
    asides = {row.id for row in _asides(flow, proved)}
    judged = 0
    for rule in rules:
        judged |= rule.reads
    others = (row for row in flow.rows() if row.id not in asides)
    decisive = {fact for row in others for fact in row.transition.reads}
    return tuple(
        name
        for name, fact in flow.facts.items()
        if not fact.host and name not in decisive and not bits.facts[name] & judged
    )


def _asides(flow: Flow, proved: set[str | None]) -> Iterator[Row]:
    """The transitions that change no state and no wait, and have no action that a property is
    about."""
    quiet, loud = [], set[tuple[str, str]]()
    for row in flow.rows():
        if row.internal and not proved.intersection(row.transition.actions):
            quiet.append(row)
        else:
            loud.add((row.source, row.trigger))
    for row in quiet:
        timers = {(row.source, timer) for timer in row.transition.restarts}
        if row.timer and not timers & loud:
            yield row


def deadlocks(model: StateSpace, exploration: Exploration) -> Iterator[tuple[str, int]]:
    """Each state that can become a trap, with the nearest configuration in which it is one."""
    if len(model.flow.states) == 1:
        return
    shift = model.bits.shift
    for number, moves in exploration.tables.items():
        always = any(edge[3].dest != moves.state for edge in moves.fixed)
        if always or model.flow.states[moves.state].final:
            continue
        nodes = [node for node in exploration.links if node >> shift == number]
        free = _free(exploration, nodes, number)
        trapped = next((node for node in nodes if node not in free), None)
        if trapped is not None:
            yield moves.state, trapped


def _free(exploration: Exploration, nodes: list[int], number: int) -> set[int]:
    """The configurations of a state from which one or more moves leave it."""
    moves = exploration.tables[number]
    exits = [
        (reads, table)
        for reads, table, _ in moves.tables
        if any(edge[3].dest != moves.state for edges in table.values() for edge in edges)
    ]
    free = {
        node
        for node in nodes
        if any(e[3].dest != moves.state for reads, table in exits for e in table[node & reads])
    }
    rest, grown = [node for node in nodes if node not in free], True
    while grown:
        still = []
        for node in rest:
            if any((node & keep | set_) in free for keep, set_, _, _ in moves.at(node)):
                free.add(node)
            else:
                still.append(node)
        grown, rest = len(still) < len(rest), still
    return free


def structure_findings(
    model: StateSpace, visited: Exploration, source: Source
) -> Iterator[Finding]:
    """Unreachable, dead, unused and incomplete parts. Only valid if all configurations were
    visited."""
    flow = model.flow
    reached = {model.state(node) for node in visited.links}
    yield from _unused(flow, source)
    if not visited.complete:
        return
    for name in flow.states:
        if name not in reached:
            yield _unreachable(flow, name, source)
    yield from _dead_rows(model, source, reached)
    yield from _dead_facts(model, source)


def _unreachable(flow: Flow, name: str, source: Source) -> Finding:
    instead = "lead a transition to it, or remove it"
    if not source.inherited(("states", name)):
        others = [state for state in flow.states if state != name]
        listed = near(name, others)
        instead = f"{listed} {instead}" if closest(name, others) else f"{instead}; {listed}"
    elif (gone := _removed_from(flow, name, source, {name})) is not None:
        remedy = f"the base led to it from here: remove it, too, by '{name}: null' in 'states'"
        return gone.finding(f"state {name!r} is never reached", remedy, code="unreachable")
    return problem(source, ("states", name), "unreachable.state", name=name, instead=instead)


def _removed_from(flow: Flow, name: str, source: Source, seen: set[str]) -> Location | None:
    """Where a variant removed the way to a state, or to one that leads to it."""
    if name in source.removed_to:
        return source.removed_to[name]
    before = {row.source for row in flow.rows() if row.dest == name} - seen
    removals = (_removed_from(flow, state, source, seen | before) for state in sorted(before))
    return next(filter(None, removals), None)


def _unused(flow: Flow, source: Source) -> Iterator[Finding]:
    """Unused names of a variant. It need not remove unused names that its base declares."""
    rows = list(flow.rows())
    chosen = {action for row in rows for action in row.transition.actions}
    for name in flow.actions:
        if name not in chosen and not source.inherited(("actions", name)):
            yield problem(source, ("actions", name), "unused.action", name=name)
    used = {row.trigger for row in rows}
    used.update(t for fact in flow.facts.values() for t in (*fact.set_by, *fact.cleared_by))
    used.update(t for scope in flow.scopes.values() for t in (*scope.begins, *scope.ends))
    used.update(t for state in flow.states.values() for t in state.ignores)
    for name in flow.triggers:
        if name not in used and not source.inherited(("triggers", name)):
            yield problem(source, ("triggers", name), "unused.trigger", name=name)


def _dead_rows(model: StateSpace, source: Source, reached: set[str]) -> Iterator[Finding]:
    """Dead rows. A row of a group is dead if it is dead in all of the group's states."""
    rows = [row for row in model.flow.rows() if row.source in reached]
    alive = {source.path(row.path) for row in rows if row.id in model.taken}
    for row in rows:
        if source.path(row.path) not in alive:
            yield _dead(model, row, source)


def _dead(model: StateSpace, row: Row, source: Source) -> Finding:
    if shadows := sorted(model.shadows.get(row.id, ())):
        named = {"kind": "timer" if row.timer else "transition", "others": " and ".join(shadows)}
        return problem(source, row.path, "dead.shadowed", row=row.id, **named)
    guard = row.transition.guard
    why = f"its guard never holds: {guard}" if guard else "its trigger never arrives"
    if row.timer:
        named = {"timer": row.trigger, "state": row.source}
        return problem(source, row.path, "dead.timer", **named, why=why)
    return problem(source, row.path, "dead.transition", row=row.id, why=why)


def _dead_facts(model: StateSpace, source: Source) -> Iterator[Finding]:
    flow = model.flow
    for name, bit in model.bits.facts.items():
        if not _is_read(model, name, bit) and not source.inherited(("facts", name)):
            yield problem(source, ("facts", name), "unread.fact", name=name)
        fact = flow.facts[name]
        lasting = fact.scope in (None, "session") and not fact.cleared_by and not fact.host
        if lasting and not _latches(model, fact, name):
            yield problem(source, ("facts", name), "never-cleared.fact", name=name)


def _latches(model: StateSpace, fact: Fact, name: str) -> bool:
    """Whether the fact is set by a timer that fires only while the fact is false, or by the end of
    an action that is chosen only then: it ensures that something happens only once."""
    flow = model.flow
    once = {key for key, action in flow.actions.items() if action.done in fact.set_by}
    own = {*fact.set_by} - {flow.actions[key].done for key in once}
    ending = [row for row in flow.rows() if once & {*row.transition.actions}]
    rows = [*ending, *(row for row in flow.rows() if row.trigger in own)]
    timed = all(row.timer for row in rows[len(ending) :])
    return timed and bool(rows) and all(name in row.transition.unless for row in rows)


def _is_read(model: StateSpace, name: str, bit: int) -> bool:
    if bit & model.relevant:
        return True
    properties = model.flow.properties
    declared: tuple[Never | Always, ...] = (*properties.never, *properties.always)
    read = {fact for body in declared for fact in (*body.when, *body.unless)}
    read.update(fact for row in model.flow.rows() for fact in row.transition.reads)
    return name in read
