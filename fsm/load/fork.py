"""Transitions that lead to another state while a fact is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from turnfsm.fsm.flow import Flow, State, Transition
from turnfsm.fsm.source import Path, Source

__all__ = ["Fork"]

Table = Mapping[str, tuple[Transition, ...]]


@attrs.frozen
class Fork:
    """While `fact` is true, the transitions to `dest` lead to `other`."""

    dest: str
    fact: str
    other: str

    def applied(self, flow: Flow, source: Source) -> Flow:
        """The flow with each such transition twice. Both are where the one is written."""
        kept = (self.dest, self.other)
        states = {
            name: state if name in kept else self._state(("states", name), state, source)
            for name, state in flow.states.items()
        }
        return attrs.evolve(flow, states=states)

    def _state(self, path: Path, state: State, source: Source) -> State:
        on = self._table((*path, "on"), state.on, source)
        after = self._table((*path, "after"), state.after, source)
        return attrs.evolve(state, on=on, after=after)

    def _table(self, path: Path, table: Table, source: Source) -> Table:
        forked = {}
        for name, rows in table.items():
            written = [source.path((*path, name, index)) for index in range(len(rows))]
            both = [
                (one, at) for row, at in zip(rows, written, strict=True) for one in self._both(row)
            ]
            for index, (_, at) in enumerate(both):
                source.alias((*path, name, index), at)
            forked[name] = tuple(row for row, _ in both)
        return forked

    def _both(self, row: Transition) -> Iterator[Transition]:
        if row.dest == self.dest:
            yield attrs.evolve(row, dest=self.other, conditions=(*row.conditions, self.fact))
        yield row
