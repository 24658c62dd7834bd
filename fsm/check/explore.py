"""Visits every reachable configuration breadth-first, so the first path found is the shortest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import TypeAlias, TypeVar

import attrs

from .parts import Edge, Rule
from .space import StateSpace, what_it_does

__all__ = ["Exploration", "StateMoves", "Violation", "explore", "way_to"]

Link: TypeAlias = "tuple[int, Edge] | None"


@attrs.frozen
class Violation:
    """A broken rule, and the shortest path to it.

    Attributes:
        node: The configuration before the breaking move, or the breaking configuration.
        edge: The move that breaks the rule; None if a configuration breaks it.
    """

    rule: Rule
    node: int
    edge: Edge | None


@attrs.define
class Exploration:
    """The result of an exploration.

    Attributes:
        links: Configuration to the one that it was first reached from, and the move.
        transitions: The number of moves that were followed.
        tables: The moves of each state that was reached, by the state's number.
        complete: Every reachable configuration was expanded.
    """

    links: dict[int, Link]
    tables: dict[int, StateMoves] = attrs.field(factory=dict)
    violations: dict[Rule, Violation] = attrs.field(factory=dict)
    transitions: int = 0
    complete: bool = True
    seconds: float = 0.0

    def path(self, node: int) -> list[tuple[int, Edge]]:
        """The shortest path to a configuration: each configuration on it, and the move that leaves
        it."""
        return way_to(node, self.links)


Node = TypeVar("Node")
Step = TypeVar("Step")


def way_to(end: Node, links: Mapping[Node, tuple[Node, Step] | None]) -> list[tuple[Node, Step]]:
    """The path to a node, given the node before each and the step between them."""
    way: list[tuple[Node, Step]] = []
    while (link := links[end]) is not None:
        way.append(link)
        end = link[0]
    return way[::-1]


Test: TypeAlias = "tuple[int, int, Rule, Edge]"
"""A move breaks a rule in the configurations whose bits under a mask have these values."""

Ways: TypeAlias = "tuple[int, tuple[Edge, ...], tuple[Test, ...]]"
"""How many moves there are, one for each different effect, and when one of them breaks a rule."""


def ways_of(edges: Iterable[Edge], bits: int, known: int) -> Ways:
    """The moves of the configurations that have these bits among the known ones."""
    count, effects, tests = 0, dict[tuple[int, int], Edge](), dict[tuple[int, int, Rule], Edge]()
    for edge in edges:
        keep, set_, alarms, _move = edge
        count += 1
        effects.setdefault((keep, set_), edge)
        decided = ~keep | set_  # the bits whose value after the move is that of `set_`
        for before, wanted, after, then, rule in alarms:
            same = after & ~decided  # the bits that the move leaves as they are
            if (set_ ^ then) & after & decided or (wanted ^ then) & before & same:
                continue
            mask, want = before | same, wanted | then & same
            if not (bits ^ want) & mask & known:
                tests.setdefault((mask & ~known, want & ~known, rule), edge)
    return count, tuple(effects.values()), tuple((*test, edge) for test, edge in tests.items())


_MOST_CACHED = 10_000
"""The most combinations of bits whose moves a state caches."""


class StateMoves:
    """The moves of one state: those that depend on no bit, and a table for each other trigger.

    Attributes:
        reads: The bits that decide which moves there are. Configurations that agree in them have
            the same moves, so these are computed once for each combination.
    """

    def __init__(self, model: StateSpace, state: str) -> None:
        self.model, self.state = model, state
        self.tests = model.state_tests(state)
        self.tables: list[tuple[int, dict[int, tuple[Edge, ...]], str]] = []
        fixed: dict[tuple[object, ...], Edge] = {}
        for trigger in (*model.flow.triggers, *model.program.rows[state].timers):
            reads = model.reads(state, trigger)
            if reads:
                self.tables.append((reads, {}, trigger))
            else:
                for edge in model.edges(state, trigger, 0):
                    fixed.setdefault((trigger, *what_it_does(edge)), edge)
        self.fixed = tuple(fixed.values())
        self.reads = 0
        for reads, _, _ in self.tables:
            self.reads |= reads
        self._at: dict[int, tuple[Edge, ...]] = {}
        self._ways: dict[int, Ways] = {}

    def at(self, node: int) -> tuple[Edge, ...]:
        """Every move that can change something in a configuration."""
        decides = node & self.reads
        moves = self._at.get(decides)
        if moves is None:
            moves = self._listed(node)
            if len(self._at) < _MOST_CACHED:
                self._at[decides] = moves
        return moves

    def _listed(self, node: int) -> tuple[Edge, ...]:
        edges = [*self.fixed]
        for reads, table, trigger in self.tables:
            key = node & reads
            moves = table.get(key)
            if moves is None:
                moves = table[key] = self.model.edges(self.state, trigger, key)
            edges += moves
        return tuple(edges)

    def ways(self, node: int) -> Ways:
        """The same moves, for the explorer."""
        decides = node & self.reads
        ways = self._ways.get(decides)
        if ways is None:
            ways = ways_of(self.at(node), decides, self.reads)
            if len(self._ways) < _MOST_CACHED:
                self._ways[decides] = ways
        return ways


def explore(model: StateSpace, limit: int, first: bool = False) -> Exploration:
    """Visit every reachable configuration, at most `limit` of them, or all to the `first`
    violation."""
    started = perf_counter()
    found = Exploration({model.initial: None})
    tables = found.tables
    shift, links = model.bits.shift, found.links
    queue = [model.initial]
    for node in queue:
        moves = tables.get(node >> shift)
        if moves is None:
            moves = tables[node >> shift] = StateMoves(model, model.state(node))
        for mask, want, rule in moves.tests:
            if node & mask == want and rule not in found.violations:
                found.violations[rule] = Violation(rule, node, None)
        count, edges, tests = moves.ways(node)
        found.transitions += count
        for mask, want, rule, edge in tests:
            if node & mask == want and rule not in found.violations:
                found.violations[rule] = Violation(rule, node, edge)
        for edge in edges:
            reached = node & edge[0] | edge[1]
            if reached not in links:
                links[reached] = (node, edge)
                queue.append(reached)
        if len(links) > limit or (first and found.violations):
            found.complete = False
            break
    found.seconds = perf_counter() - started
    return found
