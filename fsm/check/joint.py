"""Explores turn and agenda together: the rows of the turn decide which reply may start, and the
open obligations decide which reply the host requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from turnfsm.fsm.flow import Flow

from .agenda_parts import Bounds, Deliveries, Parts
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
        self.parts = Parts(flow.agenda, bounds)
        self.came: dict[Situation, tuple[Situation, str] | None] = {}
        self._heres = _Numbered[Here]()
        self._deliveries = _Numbered[Deliveries]()
        self._views = _Numbered[View]()
        self._view_of: list[int] = []
        self._at_once_of: list[int] = []
        self._heard_of: list[int] = []
        self._after: dict[tuple[int, tuple[Op, ...]], int] = {}
        self._steps: dict[tuple[str, int, int], _Steps] = {}

    def here(self, s: Situation) -> Here:
        return self._heres.all[s[0]]

    def rests(self, s: Situation) -> Spot | None:
        """The spot of `longest_rest`, if an obligation waits while nobody speaks."""
        here, view = self.here(s), self.view(s)
        if view.live or here.floor >= 0 or here.committed or here.transcript:
            return None
        waits = here.deferred or view.open or view.undecided
        return Spot(here, view.open, view.undecided) if waits else None

    def deliveries(self, s: Situation) -> Deliveries:
        return self._deliveries.all[s[1]]

    def view(self, s: Situation) -> View:
        return self._views.all[self._view_of[s[1]]]

    def explore(self) -> Iterator[Situation]:
        first = self._heres.number(self.turn.first())
        start = first, self._owed_number(self.parts.nothing()), self.bounds.disturbances
        came = self.came
        came[start] = None
        queue = [start]
        for situation in queue:
            yield situation
            deliveries = situation[1]
            for left, steps in self._next(situation):
                for text, here, ops in steps:
                    there = here, self._then(deliveries, ops) if ops else deliveries, left
                    if there not in came:
                        came[there] = situation, text
                        queue.append(there)

    def path(self, s: Situation) -> tuple[str, ...]:
        """The shortest path to a situation, one sentence for each notable move."""
        return tuple(text for _, text in way_to(s, self.came) if text)

    # -- inside

    def _next(self, s: Situation) -> Iterator[tuple[int, _Steps]]:
        here, deliveries, left = s
        view, turn = self._view_of[deliveries], self.turn
        if steps := self._known("at once", turn.at_once, here, self._at_once_of[deliveries]):
            yield left, steps
            return
        yield left, self._known("goes on", turn.goes_on, here, view)
        yield left, self._known("sounds", turn.sounds, here, self._heard_of[deliveries])
        if left:
            yield left - 1, self._known("disturbs", turn.disturbances, here, view)

    def _known(
        self, phase: str, steps_of: Callable[[Here, View], Iterable[Step]], here: int, view: int
    ) -> _Steps:
        key = phase, here, view
        found = self._steps.get(key)
        if found is None:
            number = self._heres.number
            steps = steps_of(self._heres.all[here], self._views.all[view])
            found = tuple((text, number(there), ops) for text, there, ops in steps)
            self._steps[key] = found
        return found

    def _owed_number(self, s: Deliveries) -> int:
        number = self._deliveries.number(s)
        if number == len(self._view_of):
            view = view_of(self.parts, s)
            self._view_of.append(self._views.number(view))
            self._at_once_of.append(self._views.number(view.at_once()))
            self._heard_of.append(self._views.number(view.without_phases()))
        return number

    def _then(self, deliveries: int, ops: tuple[Op, ...]) -> int:
        key = deliveries, ops
        found = self._after.get(key)
        if found is None:
            s = self._deliveries.all[deliveries]
            for name, *about in ops:
                s = getattr(self.parts, str(name))(s, *about)
            found = self._after[key] = self._owed_number(s)
        return found


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
