"""Encodes a flow and its environment as integers, for the explorer.

A configuration is one number: the facts that matter, the ghosts, the current scopes and, in the
upper bits, the state. A ghost is the checker's own fact: it says what is really true, and shows
where the flow's facts are wrong. A move changes a configuration by one AND and one OR. Moves come
from the compiled program that machines run, so the proof and the runtime cannot differ.

Host facts are not part of a configuration: the host may give any answer at every decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.machine import Program, Taken

from .parts import Alarm, Arrival, Bits, Change, Edge, Move, Rule, World, subsets

__all__ = ["StateSpace", "what_it_does"]


def what_it_does(edge: Edge) -> tuple[Any, ...]:
    """What distinguishes two moves of a trigger, apart from the host's answers."""
    keep, set_, alarms, move = edge
    return keep, set_, alarms, move.entered, move.restarts, move.keeps, move.actions


class StateSpace:
    """The moves of a flow in its world, computed lazily for each configuration.

    Attributes:
        taken: The ids of the rows that were taken somewhere.
        shadows: For each row the rows that were taken instead although its own guard held.
    """

    def __init__(self, program: Program, world: World, bits: Bits, rules: Iterable[Rule]) -> None:
        self.program, self.world, self.bits = program, world, bits
        self.flow: Flow = program.flow
        self.order = tuple(self.flow.states)
        self.index = {name: i for i, name in enumerate(self.order)}
        self.move_rules = [rule for rule in rules if rule.judge]
        self.state_rules = [rule for rule in rules if not rule.judge]
        self.relevant = self._relevant(rules)
        self.taken: set[str] = set()
        self.shadows: dict[str, set[str]] = {}
        # Scopes that may begin under another scope's token: an old token can become current again.
        self._borrowed = {s for t in program.compared for s in program.begins.get(t, ())}
        self._alarms: dict[tuple[str, str, Arrival, int], tuple[Alarm, ...]] = {}

    @property
    def initial(self) -> int:
        return self.index[self.flow.initial] << self.bits.shift

    def state(self, node: int) -> str:
        return self.order[node >> self.bits.shift]

    def _relevant(self, rules: Iterable[Rule]) -> int:
        """The bits of the facts that a guard or a rule reads, except host facts."""
        read = 0
        for rows in self.program.rows.values():
            for trigger in rows:
                read |= rows.reads(trigger)
        for rule in rules:
            read |= rule.reads
        return read & ~self.bits.host_facts & (1 << len(self.bits.facts)) - 1

    def state_tests(self, state: str) -> tuple[tuple[int, int, Rule], ...]:
        """The rules on being in a state. A host fact may have any value, so it is no excuse."""
        free = ~self.bits.host_facts
        return tuple(
            (rule.test.mask & free, rule.test.want & free, rule)
            for rule in self.state_rules
            if rule.state in (None, state)
        )

    def reads(self, state: str, trigger: str) -> int:
        """The bits of a configuration that decide the effect of a trigger in a state."""
        read = self.program.rows[state].reads(trigger)
        scope = self._scope(trigger)
        if scope is not None:
            read |= self.bits.scopes[scope] | self._begun(scope)
        if trigger in self.world.events:
            read |= self._ghosts(self.world.events[trigger].suspended)
        return read & ~self.bits.host_facts

    def edges(self, state: str, trigger: str, node: int) -> tuple[Edge, ...]:
        """The moves of a trigger in a configuration, for all answers of the host."""
        distinct: dict[tuple[Any, ...], Edge] = {}
        for arrives, accepted in self.arrivals(trigger, node):
            for move in self._moves(state, trigger, arrives, accepted, node):
                edge = self._edge(move, node)
                if edge[0] != -1 or edge[1] or edge[2] or move.entered or move.restarts:
                    distinct.setdefault(what_it_does(edge), edge)
        return tuple(distinct.values())

    def arrivals(self, trigger: str, node: int) -> Iterator[tuple[Arrival, bool]]:
        """How the trigger can arrive, and whether its fence lets it pass.

        A machine compares the event's token with the latest one, which it keeps until the scope
        ends. So an event of a scope that is really over passes if the flow forgets to fence the
        event, or to end the scope.
        """
        scope = self._scope(trigger)
        if scope is None:
            yield "", True
            return
        fence = self.program.compared.get(trigger)
        fenced = fence == scope
        kept = bool(node & self.bits.scopes[scope])
        begun = self._begun(scope)
        current = bool(node & begun) if begun else kept
        if current:
            yield "fresh", kept or not fenced
        yield "stale", not fenced or (kept and not current)
        if fence in self._borrowed and kept:
            yield "stale", True
        elif fence is not None and not fenced:
            if current:
                yield "fresh", False
            yield "stale", False

    def _scope(self, trigger: str) -> str | None:
        """The scope that an event must belong to. An event that begins the scope is never stale."""
        scope = self.world.belongs.get(trigger) or self.program.fences.get(trigger)
        return None if scope in self.program.begins.get(trigger, ()) else scope

    def _begun(self, scope: str) -> int:
        ghost = self.world.begun.get(scope)
        return self.bits.ghosts[ghost] if ghost else 0

    def _moves(
        self, state: str, trigger: str, arrives: Arrival, accepted: bool, node: int
    ) -> Iterator[Move]:
        rows = self.program.rows[state].get(trigger, ()) if accepted else ()
        candidates = [*(row[5] for row in rows), None]
        read = self.program.rows[state].reads(trigger) if accepted else 0
        for taken in candidates:
            for alarm in self._alarms_of(Move(state, trigger, arrives, taken)):
                read |= alarm[0] | alarm[2]
        read &= self.bits.host_facts
        for host_facts in subsets(read):
            yield Move(
                state, trigger, arrives, self._answer(rows, node | host_facts), host_facts, read
            )

    def _answer(self, rows: tuple[Any, ...], facts: int) -> Taken | None:
        """The verdict of `Machine.step`. Records which rows are shadowed by others."""
        answer: Taken | None = None
        for mask, want, _keep, _set, _dest, taken in rows:
            if facts & mask != want:
                continue
            if answer is None:
                answer = taken
                if taken.row:
                    self.taken.add(taken.row)
            elif taken.row and answer.row:
                self.shadows.setdefault(taken.row, set()).add(answer.row)
        return answer

    def _edge(self, move: Move, node: int) -> Edge:
        keep, set_ = -1, 0
        if move.taken is not None:
            keep, set_ = self.commit(move.source, move.taken)
        for clears, sets in self._effects(move, node):
            keep, set_ = keep & ~clears, set_ & ~clears | sets
        host_facts = self.bits.host_facts
        alarms = tuple(
            (
                before & ~host_facts,
                wanted & ~host_facts,
                after & ~host_facts,
                then & ~host_facts,
                rule,
            )
            for before, wanted, after, then, rule in self._alarms_of(move)
            if move.host_facts & before == wanted & host_facts
            and move.host_facts & after == then & host_facts
        )
        return keep, set_, alarms, move

    def host_facts(self, state: str, trigger: str) -> int:
        """The bits of the host facts that a trigger's guards read in a state."""
        return self.program.rows[state].reads(trigger) & self.bits.host_facts

    def asked_at_once(self, state: str, trigger: str) -> int:
        """How many host facts the guards and the rules read when a trigger arrives in a state."""
        read = self.host_facts(state, trigger)
        for taken in (*(row[5] for row in self.program.rows[state].get(trigger, ())), None):
            for alarm in self._alarms_of(Move(state, trigger, "", taken)):
                read |= (alarm[0] | alarm[2]) & self.bits.host_facts
        return read.bit_count()

    def answer(self, state: str, trigger: str, accepted: bool, facts: int) -> Taken | None:
        return self._answer(self.program.rows[state].get(trigger, ()) if accepted else (), facts)

    def after(self, move: Move, node: int) -> int:
        keep, set_, _alarms, _move = self._edge(move, node)
        return node & keep | set_

    def effect_of(self, action: str) -> int:
        """The ghosts that an action can change."""
        change = self.world.actions.get(action, Change())
        return self._ghosts((*change.clears, *change.sets))

    def commit(self, state: str, taken: Taken) -> tuple[int, int]:
        """The effect of a row on the state, the facts that matter and the current scopes."""
        keep, set_ = next(
            (row[2], row[3]) for row in self.program.rows[state][taken.trigger] if row[5] is taken
        )
        set_ &= self.relevant
        for scope, bit in self.bits.scopes.items():
            if scope in self.program.begins.get(taken.trigger, ()):
                set_ |= bit
            if scope in self.program.ends.get(taken.trigger, ()):
                keep, set_ = keep & ~bit, set_ & ~bit
        if taken.dest != taken.state:
            keep &= (1 << self.bits.shift) - 1
            set_ |= self.index[taken.dest] << self.bits.shift
        return keep, set_

    def _effects(self, move: Move, node: int) -> Iterator[tuple[int, int]]:
        """The effect on the ghosts: a refused request does not happen, but an event has
        happened."""
        body = self.flow.triggers.get(move.trigger)
        happens = move.taken is not None or (body is not None and body.kind == "event")
        if move.trigger in self.world.events and move.arrives != "stale" and happens:
            change = self.world.events[move.trigger]
            if not node & self._ghosts(change.suspended):
                yield self._ghosts(change.clears), self._ghosts(change.sets)
        for action in move.actions:
            if action in self.world.actions:
                change = self.world.actions[action]
                yield self._ghosts(change.clears), self._ghosts(change.sets)

    def _ghosts(self, names: Iterable[str]) -> int:
        mask = 0
        for name in names:
            mask |= self.bits.ghosts[name]
        return mask

    def _alarms_of(self, move: Move) -> tuple[Alarm, ...]:
        key = (move.source, move.trigger, move.arrives, id(move.taken))
        alarms = self._alarms.get(key)
        if alarms is None:
            judged = [(rule.judge(move), rule) for rule in self.move_rules if rule.judge]
            alarms = self._alarms[key] = tuple(
                (*attrs.astuple(tests[0]), *attrs.astuple(tests[1]), rule)
                for tests, rule in judged
                if tests is not None
            )
        return alarms
