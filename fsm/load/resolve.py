"""Resolves a file to a flow: each state gets the transitions and settings of its groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from turnfsm.fsm.flow import Fact, Flow, Group, Names, Properties, State, Transition, Trigger
from turnfsm.fsm.source import Path, Source

from .written import EVERY_STATE, HOST, FlowFile, WrittenProperties, WrittenState

__all__ = ["resolve"]

Alternatives = tuple[Transition, ...]


def resolve(file: FlowFile, source: Source, paced: Mapping[str, float]) -> Flow:
    """The flow of a file, with its seconds scaled by the pace. Afterwards the source knows where
    each part is written."""
    facts = dict(_facts(file, source))
    same = {f.name: getattr(file, f.name) for f in attrs.fields(Flow) if hasattr(file, f.name)}
    resolved = {
        "states": {name: _State(file, name, source).resolved() for name in file.states},
        "triggers": dict(_triggers(file, source)),
        "facts": facts,
        "properties": _properties(file.properties),
    }
    flow = Flow(name=file.flow, source=source, paced=paced, **(same | resolved))
    if flow.limits is None or flow.limits not in flow.limit_sets:
        return flow
    return attrs.evolve(flow, timers={**flow.timers, **flow.limited(flow.limits)})


def _properties(written: WrittenProperties) -> Properties:
    return Properties(
        tuple(attrs.evolve(body, name=name) for name, body in written.never.items()),
        tuple(attrs.evolve(body, name=name) for name, body in written.always.items()),
        tuple(attrs.evolve(body, name=name) for name, body in written.leads_to.items()),
        written.waived,
        written.no_silence_longer_than,
    )


def _triggers(file: FlowFile, source: Source) -> Iterator[tuple[str, Trigger]]:
    for name, body in file.requests.items():
        source.alias(("triggers", name), ("requests", name))
        yield name, attrs.evolve(body, kind="request")
    for name, body in file.events.items():
        if name not in file.requests:
            source.alias(("triggers", name), ("events", name))
            yield name, body


def _facts(file: FlowFile, source: Source) -> Iterator[tuple[str, Fact]]:
    seen: set[str] = set()
    for scope, facts in file.facts.items():
        for name, body in facts.items():
            if name not in seen:
                source.alias(("facts", name), ("facts", scope, name))
                host = scope == HOST
                yield name, attrs.evolve(body, scope=None if host else scope, host=host)
            seen.add(name)


class _State:
    """A state under construction: its groups' declarations, overridden by its own."""

    def __init__(self, file: FlowFile, name: str, source: Source) -> None:
        self.file, self.name, self.source = file, name, source
        self.on: dict[str, tuple[Alternatives, Path]] = {}
        self.after: dict[str, tuple[Alternatives, Path]] = {}
        self.refuses: dict[str, Path] = {}
        self.ignores: dict[str, Path] = {}

    def resolved(self) -> State:
        body = self.file.states[self.name]
        for path, part in self._parts(body):
            self._add(part, path)
        own: Path = ("states", self.name)
        for key, names in (("refuses", self.refuses), ("ignores", self.ignores)):
            for index, where in enumerate(names.values()):
                self.source.alias((*own, key, index), where)
        return State(
            is_=body.is_,
            on=self._table("on", self.on, body.on),
            after=self._table("after", self.after, body.after),
            refuses=tuple(self.refuses),
            ignores=tuple(self.ignores),
            final=body.final,
            agent_state=body.agent_state,
            tuning=body.tuning,
        )

    def _parts(self, body: WrittenState) -> Iterator[tuple[Path, Group]]:
        names: Names = () if body.final else (EVERY_STATE,)
        for name in dict.fromkeys((*names, *body.in_)):
            if name in self.file.groups:
                yield ("groups", name), self.file.groups[name]
        yield ("states", self.name), body

    def _add(self, part: Group, path: Path) -> None:
        for key, names in (("refuses", self.refuses), ("ignores", self.ignores)):
            for index, trigger in enumerate(getattr(part, key)):
                where = (*path, key, index)
                self._take_away(trigger, where)
                names[trigger] = where
        for trigger, rows in part.on.items():
            self.refuses.pop(trigger, None)
            self.ignores.pop(trigger, None)
            self.on.pop(trigger, None)
            self.on[trigger] = rows, (*path, "on", trigger)
        for timer, rows in part.after.items():
            self.after.pop(timer, None)
            self.after[timer] = rows, (*path, "after", timer)

    def _take_away(self, trigger: str, where: Path) -> None:
        gone = self.on.pop(trigger, None)
        if gone is not None and not self.source.inherited(where):
            mark = self.source.value(where)
            self.source.removed["states", self.name, "on", trigger] = mark
            self.source.removed_to.update({row.dest: mark for row in gone[0] if row.dest})

    def _table(
        self, key: str, rows: Mapping[str, tuple[Alternatives, Path]], own: Mapping[str, object]
    ) -> dict[str, Alternatives]:
        """The state's own triggers first, in their order, then those of its groups."""
        for name, (_rows, where) in rows.items():
            if where[0] == "groups":
                self.source.alias(("states", self.name, key, name), where)
                if (mark := self.source.removed.get(where)) is not None:
                    self.source.removed["states", self.name, key, name] = mark
        order = [*own, *(name for name in rows if name not in own)]
        return {name: rows[name][0] for name in order}
