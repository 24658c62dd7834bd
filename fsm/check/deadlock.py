"""Finds configurations from which no event and no timer leaves the state."""

from __future__ import annotations

from collections.abc import Iterator

from .explore import Exploration
from .space import StateSpace

__all__ = ["deadlocks"]


def deadlocks(model: StateSpace, found: Exploration) -> Iterator[tuple[str, int]]:
    """Each state that can become a trap, with the nearest configuration in which it is one."""
    if len(model.flow.states) == 1:
        return
    shift = model.bits.shift
    for number, moves in found.tables.items():
        always = any(edge[3].dest != moves.state for edge in moves.fixed)
        if always or model.flow.states[moves.state].final:
            continue
        nodes = [node for node in found.links if node >> shift == number]
        free = _free(found, nodes, number)
        trapped = next((node for node in nodes if node not in free), None)
        if trapped is not None:
            yield moves.state, trapped


def _free(found: Exploration, nodes: list[int], number: int) -> set[int]:
    """The configurations of a state from which one or more moves leave it."""
    moves = found.tables[number]
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
