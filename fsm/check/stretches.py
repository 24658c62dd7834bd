"""Computes the longest wait in a graph of spots between which timers run.

A run is divided into stretches, each charged to one timer that keeps running through it: the wait
lasts no longer than the seconds of these timers together. If there is no such division, the wait
has no bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import inf
from typing import Generic, TypeVar

import attrs

__all__ = ["VOICE", "Endless", "Step", "Stretches"]

_EPSILON = 1e-6  # tolerance for sums of seconds
VOICE = ""
"""Takes the place of a timer while time does not count."""

S = TypeVar("S", bound=Hashable)
M = TypeVar("M")
Step = tuple[S, frozenset[str] | None, M]
"""The dest of a move, the timers that it restarts (None: all), and the move."""


@attrs.frozen
class Endless(Generic[S, M]):
    """A path without a bound.

    Attributes:
        steps: The moves, from the first spot on.
        first: The move of `steps` with which the repetition begins.
        stuck: The spot that no timer leaves; None if moves repeat.
    """

    steps: tuple[Step[S, M], ...]
    first: int
    stuck: S | None


class Stretches(Generic[S, M]):
    """The longest wait from each spot.

    Args:
        steps: The moves from each spot that do not end the wait.
        usable: The timers that bound a wait at each spot: each is taken when due, at the latest.
        seconds: The seconds of each timer.
    """

    def __init__(
        self,
        steps: Mapping[S, Sequence[Step[S, M]]],
        usable: Mapping[S, Sequence[str]],
        seconds: Mapping[str, float],
    ) -> None:
        self.steps, self.usable, self.seconds = steps, usable, {VOICE: 0.0, **seconds}
        self.worst: dict[S, float] = dict.fromkeys(steps, inf)
        self._by: dict[S, str] = {}
        self._solve()

    def endless(self, spot: S) -> Endless[S, M]:
        """A path from a spot without a bound: into moves that can be repeated forever, or to a spot
        that no timer leaves."""
        steps, passed = list[Step[S, M]](), {spot: 0}
        while True:
            timers = sorted(self.usable[spot], key=self.seconds.__getitem__)
            way = self._way(spot, timers[0], inf) if timers else []
            if not way:
                return Endless(tuple(steps), len(steps), spot)
            steps += way
            spot = way[-1][0]
            if spot in passed:
                return Endless(tuple(steps), passed[spot], None)
            passed[spot] = len(steps)

    def charged(self, spot: S) -> Iterator[str]:
        """The timers of the longest wait, one after the other."""
        while True:
            timer = self._by[spot]
            rest = self.worst[spot] - self.seconds[timer]
            if timer:
                yield timer
            if rest < _EPSILON:
                return
            spot = self._way(spot, timer, rest)[-1][0]

    # -- inside

    def _solve(self) -> None:
        timers = dict.fromkeys(timer for names in self.usable.values() for timer in names)
        regions = {t: [spot for spot in self.steps if t in self.usable[spot]] for t in timers}
        shorter = True
        while shorter:
            shorter = False
            for timer, spots in regions.items():
                rest = self._stretch(timer, spots)
                for spot in spots:
                    if (seconds := self.seconds[timer] + rest[spot]) < self.worst[spot]:
                        self.worst[spot], self._by[spot] = seconds, timer
                        shorter = True

    def _stretch(self, timer: str, spots: list[S]) -> dict[S, float]:
        """The rest of the wait after a timer that keeps running from each of these spots has
        ended."""
        rest = dict.fromkeys(spots, 0.0)
        back: dict[S, list[S]] = {}
        for spot in spots:
            for there, again, _ in self.steps[spot]:
                if self._goes_on(timer, there, again, rest):
                    back.setdefault(there, []).append(spot)
                elif self.worst[there] > rest[spot]:
                    rest[spot] = self.worst[there]
        queue = sorted((spot for spot in spots if rest[spot]), key=rest.__getitem__)
        while queue:
            spot = queue.pop()
            for before in back.get(spot, ()):
                if rest[before] < rest[spot]:
                    rest[before] = rest[spot]
                    queue.append(before)
        return rest

    def _goes_on(
        self, timer: str, there: S, again: frozenset[str] | None, region: dict[S, float]
    ) -> bool:
        """Whether a move keeps the timer running, and leads to a spot where it still bounds the
        wait."""
        runs = again is not None and timer not in again
        return there in region and (runs or timer == VOICE)

    def _way(self, spot: S, timer: str, rest: float) -> list[Step[S, M]]:
        """The shortest path through a timer's stretch to a spot where the rest of the wait is
        `rest`."""
        region = dict.fromkeys((s for s in self.steps if timer in self.usable[s]), 0.0)
        ways: dict[S, list[Step[S, M]]] = {spot: []}
        for here in (queue := [spot]):
            for step in self.steps[here]:
                there, again, _ = step
                if not self._goes_on(timer, there, again, region):
                    if self.worst[there] >= rest - _EPSILON:
                        return [*ways[here], step]
                elif there not in ways:
                    ways[there] = [*ways[here], step]
                    queue.append(there)
        return []
