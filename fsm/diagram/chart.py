"""The content of a flow's picture before layout: cards, groups, common rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import attrs

from turnfsm.fsm.flow import Flow, Row, fires_in_words

from .common import headings, scoped_settings, settings, shared_rows
from .marks import Marks
from .text import Part, Token, times

__all__ = ["Card", "Chart", "Group", "Item", "build_chart", "rows_between"]

Item = tuple[Part, ...]
"""The parts that start on their own line."""


@attrs.frozen
class Card:
    """A state: its name, its description, and the rows that do not leave it."""

    state: str
    sentence: str
    items: tuple[Item, ...]
    color: int
    visits: int | None = None


@attrs.frozen
class Group:
    """All transitions from one state to another."""

    source: str
    dest: str
    items: tuple[Item, ...]
    timers_only: bool
    color: int
    marks: tuple[str, ...] = ()
    count: int | None = None


@attrs.frozen
class Chart:
    """A flow, ready to be laid out.

    Attributes:
        cards: The states that something leaves, in declared order.
        finals: The states that nothing leaves.
        common: Rows that most states share, each with the states that are excepted; and the
            settings of tools, agents and questions.
        brief: It is an overview: small, and without a legend.
    """

    flow: Flow
    marks: Marks
    cards: tuple[Card, ...]
    finals: tuple[Card, ...]
    groups: tuple[Group, ...]
    common: tuple[tuple[str, tuple[Item, ...]], ...]
    brief: bool = False


def build_chart(flow: Flow, marks: Marks | None = None) -> Chart:
    return _Builder(flow, marks or Marks()).build()


def _tokens(flow: Flow, row: Row) -> tuple[Token, ...]:
    if row.timer:
        seconds = flow.timers.get(row.trigger)
        time = fires_in_words(seconds) if seconds is not None else "after"
        words = [Token(time, "timer"), Token(row.trigger, "timer")]
    else:
        words = [Token(row.trigger, "trigger")]
    if row.index:
        words.append(Token("else", "quiet"))
    guard = (Token(fact, "guard") for fact in re.split("(?<=,) ", f"[{row.transition.guard}]"))
    return (*words, *(guard if row.transition.reads else ()), *_actions(row))


def _actions(row: Row) -> Iterator[Token]:
    actions = row.transition.actions
    for index, action in enumerate(actions):
        left = "" if index else "/ "
        right = "" if index == len(actions) - 1 else ","
        yield Token(f"{left}{action}{right}", "action")
    if row.transition.restarts:
        yield Token(f"restarts {', '.join(row.transition.restarts)}", "timer")


def rows_between(flow: Flow) -> dict[tuple[str, str], list[Row]]:
    """The transitions from one state to another one that is not final."""
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in flow.rows():
        if row.dest != row.source and not flow.states[row.dest].final:
            pairs.setdefault((row.source, row.dest), []).append(row)
    return pairs


class _Builder:
    def __init__(self, flow: Flow, marks: Marks) -> None:
        self.flow, self.marks = flow, marks
        self.colors = {name: index for index, name in enumerate(flow.states)}
        self.finals = [name for name, state in flow.states.items() if state.final]
        self.shared = shared_rows(flow)
        self.shared_ids = {row.id for entry in self.shared for row in entry.rows}

    def build(self) -> Chart:
        live = [name for name in self.flow.states if name not in self.finals]
        return Chart(
            flow=self.flow,
            marks=self.marks,
            cards=tuple(self._card(name) for name in live),
            finals=tuple(self._card(name) for name in self.finals),
            groups=tuple(self._groups()),
            common=tuple(self._common()),
        )

    def _card(self, name: str) -> Card:
        items = [
            *self._tuning(name),
            *self._rows(name),
            *self._notes(name),
            *self._refusals(name),
        ]
        visits = None if self.marks.taken is None else self.marks.visits.get(name, 0)
        sentence = self.flow.states[name].is_
        return Card(name, sentence, tuple(items), self.colors[name], visits)

    def _own(self, name: str) -> Iterator[Row]:
        return (row for row in self.flow.rows(name) if row.id not in self.shared_ids)

    def _rows(self, name: str) -> Iterator[Item]:
        """Rows that stay in the state and have an effect, re-enter it, or lead to a final state."""
        for row in self._own(name):
            if row.dest in self.finals:
                yield (self._part(row, before=(Token(f"→ {row.dest}", "dest"),)),)
            elif row.dest == name and not row.internal:
                yield (self._part(row, before=(Token("↻", "dest"),)),)
            elif row.internal and not _is_note(row):
                yield (self._part(row),)

    def _notes(self, name: str) -> Iterator[Item]:
        """Triggers that only change facts."""
        rows = [row for row in self._own(name) if _is_note(row) and row.dest not in self.finals]
        if rows:
            yield (_word("updates facts on"), *_listed([self._part(row) for row in rows]))

    def _tuning(self, name: str) -> Iterator[Item]:
        """Settings of the session that apply in the state."""
        if values := settings(self.flow.states[name].tuning):
            yield (_word("settings"), *_set(name, values))

    def _refusals(self, name: str) -> Iterator[Item]:
        said = () if name in self.finals else self.flow.without_effect(name)
        shared = {e.trigger for e in self.shared if not e.rows and name in e.states}
        own = [(t, (name,)) for t in said if t not in shared]
        yield from self._without_effect(own)
        seen = [
            Part(
                (f"refused-{name}.{trigger}",),
                (Token(trigger, "refused"), Token(times(count), "badge")),
            )
            for (state, trigger), count in sorted(self.marks.refused.items())
            if state == name and trigger not in said
        ]
        if seen:
            yield (_word("refused here"), *_listed(seen))

    def _without_effect(self, found: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Item]:
        """Requests that are refused, then events that are ignored, each with its states."""
        for word, requests in (("refuses", True), ("ignores", False)):
            parts = [
                self._refused_in(states, trigger)
                for trigger, states in found
                if (trigger in self.flow.requests) == requests
            ]
            if parts:
                yield (_word(word), *_listed(parts))

    def _refused_in(self, names: tuple[str, ...], trigger: str) -> Part:
        count = sum(self.marks.refused.get((name, trigger), 0) for name in names)
        badge = (Token(times(count), "badge"),) if count else ()
        ids = tuple(f"refuse-{name}.{trigger}" for name in names)
        return Part(ids, (Token(trigger, "refused"), *badge), self._tip(trigger))

    def _part(self, row: Row, before: tuple[Token, ...] = ()) -> Part:
        return self._part_of((row,), before)

    def _part_of(self, rows: tuple[Row, ...], before: tuple[Token, ...] = ()) -> Part:
        tokens = (*before, *_tokens(self.flow, rows[0]))
        marks = [self.marks.rows[row.id] for row in rows if row.id in self.marks.rows]
        if self.marks.taken is not None:
            count = sum(self.marks.taken.get(row.id, 0) for row in rows)
            marks.append("taken" if count else "untaken")
            tokens += (Token(times(count), "badge"),) * bool(count)
        ids = tuple(f"row-{row.id}" for row in rows)
        return Part(ids, tokens, self._tip(rows[0].trigger), tuple(marks))

    def _tip(self, trigger: str) -> str:
        declared = self.flow.triggers.get(trigger)
        return declared.is_ if declared else ""

    def _groups(self) -> Iterator[Group]:
        for (source, dest), rows in rows_between(self.flow).items():
            timers = all(row.timer for row in rows)
            marks, count = self._edge_marks(source, rows)
            items = tuple((self._part(row),) for row in rows)
            yield Group(source, dest, items, timers, self.colors[dest], marks, count)

    def _edge_marks(self, source: str, rows: list[Row]) -> tuple[tuple[str, ...], int | None]:
        if self.marks.taken is not None:
            count = sum(self.marks.taken.get(row.id, 0) for row in rows)
            return (("taken",) if count else ("untaken",)), count
        if self.marks.state is None:
            return (), None
        if source != self.marks.state:
            return ("away",), None
        live = any(self.marks.rows.get(row.id) == "live" for row in rows)
        return (("live",) if live else ("blocked",)), None

    def _common(self) -> Iterator[tuple[str, tuple[Item, ...]]]:
        for heading, entries in headings(self.shared):
            rows = [(self._part_of(entry.rows),) for entry in entries if entry.rows]
            refused = [(entry.trigger, entry.states) for entry in entries if not entry.rows]
            yield heading, (*rows, *self._without_effect(refused))
        for heading, values in scoped_settings(self.flow):
            yield heading, (tuple(_set(heading, values)),)


def _is_note(row: Row) -> bool:
    body = row.transition
    return row.internal and not (body.actions or body.restarts or body.reads)


def _listed(parts: list[Part]) -> Iterator[Part]:
    """The parts with a comma after each but the last."""
    for part in parts[:-1]:
        yield attrs.evolve(part, tokens=(*part.tokens, Token(",", "comma")))
    yield from parts[-1:]


def _set(owner: str, values: Mapping[str, str]) -> Iterator[Part]:
    """The settings of a state, a tool, an agent or a question."""
    return _listed(
        [
            Part((f"tuning-{owner}.{field}",), (Token(f"{field} {value}", "guard"),))
            for field, value in values.items()
        ]
    )


def _word(text: str) -> Part:
    return Part((), (Token(text, "quiet"),))
