"""Visits every reachable configuration breadth-first, so the first path found is the shortest."""

from __future__ import annotations

from time import perf_counter
from typing import TypeAlias

import attrs

from .parts import Edge, Rule
from .space import StateSpace, what_it_does

__all__ = ["Exploration", "StateMoves", "Violation", "explore"]

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
        way: list[tuple[int, Edge]] = []
        link = self.links[node]
        while link is not None:
            way.append(link)
            link = self.links[link[0]]
        return way[::-1]


class StateMoves:
    """The moves of one state: those that depend on no bit, and a table for each other trigger."""

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

    def at(self, node: int) -> list[Edge]:
        """Every move that can change something in a configuration."""
        edges = [*self.fixed]
        for reads, table, trigger in self.tables:
            key = node & reads
            found = table.get(key)
            if found is None:
                found = table[key] = self.model.edges(self.state, trigger, key)
            edges += found
        return edges


def explore(model: StateSpace, limit: int, first: bool = False) -> Exploration:
    """Visit every reachable configuration, at most `limit` of them.

    Args:
        first: Stop at the first violation.
    """
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
        edges = moves.at(node)
        found.transitions += len(edges)
        for edge in edges:
            reached = node & edge[0] | edge[1]
            if edge[2]:
                _judge(found, node, reached, edge)
            if reached not in links:
                links[reached] = (node, edge)
                queue.append(reached)
        if len(links) > limit or (first and found.violations):
            found.complete = False
            break
    found.seconds = perf_counter() - started
    return found


def _judge(found: Exploration, node: int, reached: int, edge: Edge) -> None:
    for before, wanted, after, then, rule in edge[2]:
        if node & before == wanted and reached & after == then and rule not in found.violations:
            found.violations[rule] = Violation(rule, node, edge)
