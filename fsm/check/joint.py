"""Explores turn and agenda together: the rows of the turn decide which reply may start, and the
open obligations decide which reply the host requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Generic, TypeVar

from turnfsm.fsm.flow import Flow

from .agenda_parts import Bounds, Deliveries, Parts, Table, rules_of, table_of
from .explore import way_to
from .joint_parts import Here, Op, Step, View, view_of
from .joint_rest import Spot
from .joint_turn import TurnSide

__all__ = ["Joint", "Situation"]

Situation = tuple[int, int, int]
"""The numbers of the turn's situation and of the agenda's, and how many disturbances may still
come."""

_Steps = tuple[tuple[str, int, "tuple[Op, ...]"], ...]


class Joint:
    """Turn and agenda in a small world.

    Attributes:
        came: Each visited situation, with the one before it and the step between them.
    """

    def __init__(self, flow: Flow, bounds: Bounds) -> None:
        self.bounds = bounds
        self.turn = TurnSide(flow, bounds)
        self.agenda = _agenda_side(table_of(flow.agenda), bounds)
        self.came: dict[Situation, tuple[Situation, str] | None] = {}
        self._heres = _Numbered[Here]()
        self._steps: dict[tuple[str, int, int], _Steps] = {}

    def here(self, s: Situation) -> Here:
        return self._heres.all[s[0]]

    def rests(self, s: Situation) -> Spot | None:
        """The spot of `longest_rest`, if an obligation waits while nobody speaks."""
        here, view = self.here(s), self.agenda.view(s[1])
        if view.live or here.floor >= 0 or here.committed or here.transcript:
            return None
        waits = here.deferred or view.open or view.undecided
        return Spot(here, view.open, view.undecided) if waits else None

    def deliveries(self, s: Situation) -> Deliveries:
        return self.agenda.deliveries.all[s[1]]

    def explore(self) -> Iterator[Situation]:
        first = self._heres.number(self.turn.first())
        start = first, self.agenda.nothing, self.bounds.disturbances
        came, then = self.came, self.agenda.then
        came[start] = None
        queue = [start]
        for situation in queue:
            yield situation
            deliveries = situation[1]
            for left, steps in self._next(situation):
                for text, here, ops in steps:
                    there = here, then(deliveries, ops) if ops else deliveries, left
                    if there not in came:
                        came[there] = situation, text
                        queue.append(there)

    def path(self, s: Situation) -> tuple[str, ...]:
        """The shortest path to a situation, one sentence for each notable move."""
        return tuple(text for _, text in way_to(s, self.came) if text)

    # -- inside

    def _next(self, s: Situation) -> Iterator[tuple[int, _Steps]]:
        here, deliveries, left = s
        (view, at_once, heard), turn = self.agenda.views_of[deliveries], self.turn
        if steps := self._known("at once", turn.at_once, here, at_once):
            yield left, steps
            return
        yield left, self._known("goes on", turn.goes_on, here, view)
        yield left, self._known("sounds", turn.sounds, here, heard)
        if left:
            yield left - 1, self._known("disturbs", turn.disturbances, here, view)

    def _known(
        self, phase: str, steps_of: Callable[[Here, View], Iterable[Step]], here: int, view: int
    ) -> _Steps:
        key = phase, here, view
        found = self._steps.get(key)
        if found is None:
            number = self._heres.number
            steps = steps_of(self._heres.all[here], self.agenda.views.all[view])
            found = tuple((text, number(there), ops) for text, there, ops in steps)
            self._steps[key] = found
        return found


class _AgendaSide:
    """The situations of the agenda, by number, and what follows from each. The turn does not
    matter to them.

    Attributes:
        views_of: For each situation the numbers of its view, of what matters at once, and of what
            matters to a sound.
    """

    def __init__(self, table: Table, bounds: Bounds) -> None:
        self.parts = Parts(rules_of(table), bounds)
        self.deliveries = _Numbered[Deliveries]()
        self.views = _Numbered[View]()
        self.views_of: list[tuple[int, int, int]] = []
        self._after: dict[tuple[int, tuple[Op, ...]], int] = {}
        self.nothing = self._number(self.parts.nothing())

    def view(self, deliveries: int) -> View:
        return self.views.all[self.views_of[deliveries][0]]

    def then(self, deliveries: int, ops: tuple[Op, ...]) -> int:
        key = deliveries, ops
        found = self._after.get(key)
        if found is None:
            s = self.deliveries.all[deliveries]
            for name, *about in ops:
                s = getattr(self.parts, str(name))(s, *about)
            found = self._after[key] = self._number(s)
        return found

    def _number(self, s: Deliveries) -> int:
        number = self.deliveries.number(s)
        if number == len(self.views_of):
            view, of = view_of(self.parts, s), self.views.number
            self.views_of.append((of(view), of(view.at_once()), of(view.without_phases())))
        return number


_agenda_side = lru_cache(maxsize=4)(_AgendaSide)
"""Flows that extend another one usually have the same table."""

T = TypeVar("T")


class _Numbered(Generic[T]):
    def __init__(self) -> None:
        self.all: list[T] = []
        self._numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.all)
            self.all.append(value)
        return found
