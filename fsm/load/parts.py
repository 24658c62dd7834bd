"""A file with its sections' additions: facts, actions, timers, transitions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import Any

import attrs

from turnfsm.fsm.flow import (
    Action,
    Fact,
    Flow,
    Group,
    Never,
    Seconds,
    State,
    Transition,
    Trigger,
    Tuning,
)
from turnfsm.fsm.pace import times
from turnfsm.fsm.source import Page, Path, Source

from .structure import structure_as
from .written import FlowFile, WrittenState
from .yaml12 import read_table

__all__ = ["Parts", "Rows"]

Table = Mapping[str, tuple[Transition, ...]]


@attrs.frozen
class Fork:
    """While `fact` is true, the transitions to `dest` lead to `other`."""

    dest: str
    fact: str
    other: str

    def applied(self, flow: Flow, source: Source) -> Flow:
        """The flow with each such transition twice, both at its place in the file."""
        exempt = (self.dest, self.other)
        states = {
            name: state if name in exempt else self._state(("states", name), state, source)
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
            pairs = [
                (new, at) for row, at in zip(rows, written, strict=True) for new in self._both(row)
            ]
            for index, (_, at) in enumerate(pairs):
                source.alias((*path, name, index), at)
            forked[name] = tuple(row for row, _ in pairs)
        return forked

    def _both(self, row: Transition) -> Iterator[Transition]:
        if row.dest == self.dest:
            yield attrs.evolve(row, dest=self.other, conditions=(*row.conditions, self.fact))
        yield row


Rows = tuple[Transition, ...]
"""The transitions of a trigger in a state."""

_NONE: Mapping[str, float] = {}


@attrs.frozen
class _Vocabulary:
    """What a section adds, whatever its keys are. `all` stands for each state that is not final."""

    facts: Mapping[str, Mapping[str, Fact]] = attrs.field(factory=dict)
    requests: Mapping[str, Trigger] = attrs.field(factory=dict)
    events: Mapping[str, Trigger] = attrs.field(factory=dict)
    timers: Mapping[str, Seconds] = attrs.field(factory=dict)
    actions: Mapping[str, Action] = attrs.field(factory=dict)
    never: Mapping[str, Never] = attrs.field(factory=dict)
    states: Mapping[str, Group] = attrs.field(factory=dict)


@cache
def _vocabulary(section: str) -> _Vocabulary:
    data = read_table(FilePath(__file__).with_name("sections.yaml"))[section]
    vocabulary, problems = structure_as(_Vocabulary, data, Source(Page("sections.yaml", "")))
    assert vocabulary is not None, problems
    return vocabulary


@attrs.define
class Parts:
    """A file with additions. The file's own declarations take precedence.

    Attributes:
        file: The file with the additions.
        source: The position of each part.
        places: The path of each added part to the path of the section that adds it.
        paced: The scaled parts, with their seconds.
        forks: Applied once each state has its groups' declarations.
        at: The path of the section, or the part of one, that is being added.
    """

    file: FlowFile
    source: Source
    places: dict[Path, Path] = attrs.field(factory=dict)
    paced: dict[str, float] = attrs.field(factory=dict)
    forks: list[Fork] = attrs.field(factory=list)
    at: Path = ()

    def declare(self, section: str, seconds: Mapping[str, float] = _NONE) -> None:
        """Add what `sections.yaml` has for a section.

        Args:
            seconds: Of its timers; by default those of the table.
        """
        table = _vocabulary(section)
        for scope, facts in table.facts.items():
            for name, fact in facts.items():
                self.fact(scope, name, fact)
        for kind in ("requests", "events", "actions"):
            for name, value in getattr(table, kind).items():
                self.add(kind, name, value)
        for name, property in table.never.items():
            self.never(name, property)
        for name, body in table.states.items():
            states = [n for n, state in self.file.states.items() if not state.final]
            for state in states if name == "all" else [name]:
                for trigger, rows in body.on.items():
                    self.trigger(state, trigger, rows)
                for timer, rows in body.after.items():
                    self.timer(state, timer, {**table.timers, **seconds}[timer], rows)

    def fact(self, scope: str, name: str, fact: Fact) -> None:
        facts = self.file.facts
        if not any(name in scoped for scoped in facts.values()):
            facts = {**facts, scope: {**facts.get(scope, {}), name: fact}}
            self.file = attrs.evolve(self.file, facts=facts)
            self.places["facts", name] = self.at

    def add(self, section: str, name: str, value: object) -> None:
        """Declare a name in a section of the file: a trigger, an action, a scope, phrases."""
        declared = getattr(self.file, section)
        if name not in declared:
            self._set(section, {**declared, name: value})
            loaded = "triggers" if section in ("requests", "events") else section
            self.places[loaded, name] = self.at

    def action(self, name: str, action: Action) -> None:
        self.add("actions", name, action)

    def never(self, name: str, property: Never) -> None:
        properties = self.file.properties
        if name not in properties.never:
            properties = attrs.evolve(properties, never={**properties.never, name: property})
            self.file = attrs.evolve(self.file, properties=properties)
            self.places["properties", "never", name] = self.at

    def no_silence_longer_than(self, seconds: float) -> None:
        properties = attrs.evolve(self.file.properties, no_silence_longer_than=seconds)
        self.file = attrs.evolve(self.file, properties=properties)
        self.places["properties", "no_silence_longer_than"] = (*self.at, "after")

    def limit(self, timer: str, seconds: float) -> None:
        """Give a timer that is `never` seconds in every limit set that does not name it."""
        sets = self.file.limit_sets
        sets = {name: {timer: Seconds(seconds), **timers} for name, timers in sets.items()}
        self.file = attrs.evolve(self.file, limit_sets=sets)

    def lasting(self, timer: str) -> None:
        if timer not in self.file.lasting:
            self.file = attrs.evolve(self.file, lasting=(*self.file.lasting, timer))

    def rows(self, state: str) -> dict[str, Rows]:
        """The transitions of a state, its own or those of the group of all states."""
        body, group = self.file.states.get(state), self.file.groups.get("all")
        if body is None or body.final:
            return {}
        silent = {*body.refuses, *body.ignores}
        shared = {t: rows for t, rows in (group.on if group else {}).items() if t not in silent}
        return {**shared, **body.on}

    def timer(self, state: str, name: str, seconds: float, row: Transition | Rows) -> None:
        if name not in self.file.timers:
            self._time(name, seconds)
            self.places["timers", name] = (*self.at, "after")
        body = self.file.states.get(state)
        if body is not None and name not in body.after:
            self.places["states", state, "after", name] = self.at
            rows = row if isinstance(row, tuple) else (row,)
            self._replace(state, attrs.evolve(body, after={**body.after, name: rows}))

    def paced_timer(
        self,
        state: str,
        name: str,
        written: float | None,
        normal: float,
        row: Transition,
    ) -> None:
        """Add a timer, with the written seconds or else with `normal` scaled by the pace."""
        if written is None and name not in self.file.timers:
            self.retime(name, normal)
        self.timer(state, name, normal if written is None else written, row)

    def retime(self, name: str, normal: float) -> None:
        self.paced[name] = times(self.file.pace, normal)
        self._time(name, self.paced[name])

    def _time(self, timer: str, seconds: float) -> None:
        self._set("timers", {**self.file.timers, timer: Seconds(seconds)})

    def _set(self, section: str, value: Any) -> None:
        self.file = attrs.evolve(self.file, **{section: value})

    def trigger(self, state: str, name: str, rows: Rows) -> None:
        """Add transitions of a trigger to a state, unless a variant has removed the state."""
        if (body := self.file.states.get(state)) is not None:
            if name not in body.on:
                self.places["states", state, "on", name] = self.at
            self._replace(state, attrs.evolve(body, on={**body.on, name: rows}))

    def tuned(self, state: str, tuning: Tuning, places: Mapping[str, Path]) -> None:
        """Apply settings in a state, which are written at these places. Its own take precedence."""
        if (body := self.file.states.get(state)) is not None:
            for key, place in places.items():
                if getattr(body.tuning, key) is None:
                    self.places["states", state, "tuning", key] = place
            self._replace(state, attrs.evolve(body, tuning=body.tuning.over(tuning)))

    def guard(self, state: str, fact: str, actions: Collection[object]) -> None:
        """Add the fact to `unless` of a state's transitions with one of these actions."""
        if (body := self.file.states.get(state)) is None:
            return

        def guarded(row: Transition) -> Transition:
            unchanged = fact in row.unless or not {*row.actions} & {*actions}
            return row if unchanged else attrs.evolve(row, unless=(*row.unless, fact))

        on = {name: tuple(map(guarded, rows)) for name, rows in body.on.items()}
        after = {name: tuple(map(guarded, rows)) for name, rows in body.after.items()}
        self._replace(state, attrs.evolve(body, on=on, after=after))

    def state(self, name: str, body: WrittenState) -> None:
        """Add a state. The file's declarations take precedence."""
        own = self.file.states.get(name)
        if own is None:
            self.places["states", name] = self.at
        else:
            on, after = {**body.on, **own.on}, {**body.after, **own.after}
            body = attrs.evolve(own, on=on, after=after, is_=own.is_ or body.is_)
        self._replace(name, body)

    def fork(self, dest: str, fact: str, other: str) -> None:
        self.forks.append(Fork(dest, fact, other))

    def _replace(self, state: str, body: WrittenState) -> None:
        self.file = attrs.evolve(self.file, states={**self.file.states, state: body})

    def place(self, section: str, index: int) -> Path:
        """The path of a part of a section, which may be written without a list."""
        place: Path = (section, index)
        return place if self.source.written(place) else (section,)
