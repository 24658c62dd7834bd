"""Finds the line of a flow that decided a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from .flow import Flow, Row
from .source import Location, Path
from .verdicts import Refused, Taken, Verdict

__all__ = ["Places", "decided_at"]


def decided_at(flow: Flow, verdict: Verdict) -> Location | None:
    """The place of the transition that took a trigger, or of the refusal.

    Returns:
        The place, in the file where it is written; None if the flow was not read from a text.
    """
    if flow.source is None:
        return None
    rows = [row for row in flow.rows(verdict.state) if row.trigger == verdict.trigger]
    if isinstance(verdict, Taken):
        rows = [row for row in rows if row.id == verdict.row]
    if isinstance(verdict, Refused) and verdict.reason == "stale":
        return flow.source.key(("triggers", verdict.trigger))
    if len(rows) == 1:  # the only one that could have taken it
        return flow.source.key(rows[0].path)
    return flow.source.key(_rowless(flow, verdict.state, verdict.trigger, next(iter(rows), None)))


class Places:
    """The lines of a flow, by the decisions that they make.

    Keys: a row's id; ``state.trigger`` if no row took the trigger (refused, ignored, or only facts
    changed); a trigger or a timer that is stale or not started; ``=name`` for a state, a fact, a
    timer, a trigger or an action where it is declared; ``kind name.key`` for a setting of a state,
    an agent, a tool or a question.
    """

    def __init__(self, flow: Flow) -> None:
        self.files: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self.at: dict[str, list[int]] = {}
        if flow.source is not None:
            self._file(flow.source.key(()))
            for key, place in self._places(flow):
                self.at[key] = [self._file(place), place.line, place.column, place.width]

    def to_json(self) -> dict[str, Any]:
        """The files with their lines, and the places: file, line, column, width."""
        files = [{"name": name, "text": text} for name, text in self.files.items()]
        return {"files": files, "at": self.at}

    def _file(self, place: Location) -> int:
        name = place.page.file
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            self.files[name] = place.page.text
        return self._numbers[name]

    def _places(self, flow: Flow) -> Iterator[tuple[str, Location]]:
        source = flow.source
        assert source is not None
        for row in flow.rows():
            yield row.id, source.key(row.path)
        for trigger in flow.triggers:
            yield trigger, source.key(("triggers", trigger))
            yield f"={trigger}", source.key(("triggers", trigger))
        for timer in flow.timers:
            yield timer, source.key(("timers", timer))
        for state in flow.states:
            rows = {row.trigger: row for row in reversed(list(flow.rows(state)))}
            for trigger in (*flow.triggers, *flow.timers):
                path = _rowless(flow, state, trigger, rows.get(trigger))
                yield f"{state}.{trigger}", source.key(path)
        for key, path in self._settings(flow):
            yield key, source.key(path)
        for section in ("states", "facts", "timers", "actions"):
            for name in getattr(flow, section):
                yield f"={name}", source.key((section, name))

    @staticmethod
    def _settings(flow: Flow) -> Iterator[tuple[str, Path]]:
        for kind, name, tuning, path in flow.tunings:
            for field in attrs.fields(type(tuning)):
                if getattr(tuning, field.name) is not None:
                    yield f"{kind} {name}.{field.name}", (*path, field.name)
        for name in flow.questions:
            yield f"=question {name}", ("questions", name)
        yield "tools.interrupted", ("tools", "interrupted")
        for tool in flow.tools.by_name:
            yield f"tools.by_name.{tool}", ("tools", "by_name", tool)


def _rowless(flow: Flow, state: str, trigger: str, row: Row | None) -> Path:
    """The line that decides on a trigger that no row takes."""
    body = flow.states[state]
    if row is not None:  # its guards did not hold
        return row.path[:-1]
    for key, names in (("refuses", body.refuses), ("ignores", body.ignores)):
        if trigger in names:
            return ("states", state, key, names.index(trigger))
    if trigger in flow.timers:
        return ("timers", trigger)
    for name, fact in flow.facts.items():
        for key, names in (("set_by", fact.set_by), ("cleared_by", fact.cleared_by)):
            if trigger in names:
                return ("facts", name, key, names.index(trigger))
    return ("states", state) if trigger in flow.requests else ("triggers", trigger)
