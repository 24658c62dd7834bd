"""Computes how long an obligation can wait while the user says nothing and no reply is live.

Noises may keep coming, and endpointing may last forever. Time in which the user is heard does not
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple

import attrs

from turnfsm.fsm.flow import Flow, Names

from .agenda_parts import Bounds
from .joint_parts import Here, View
from .joint_turn import TurnSide
from .parts import subsets
from .stretches import VOICE, Step, Stretches

__all__ = ["Rest", "Spot", "Unasked", "longest_rest"]


class Spot(NamedTuple):
    """A situation at rest in which an obligation or a turn waits.

    Attributes:
        here: Where the turn is.
        open: An obligation is open.
        undecided: One is open if its interruption is not answered. Otherwise a turn is deferred.
    """

    here: Here
    open: bool
    undecided: bool = False

    @property
    def view(self) -> View:
        """No reply is live."""
        return View(open=self.open, undecided=self.undecided)


@attrs.frozen
class Unasked:
    """The longest wait until a reply is requested.

    Attributes:
        seconds: Infinite if nothing bounds it.
        timers: The timers that add up to it.
        spot: Where it begins.
        why: Why it has no bound.
        moves: The moves of the wait, one sentence each.
        state: The state that no timer leaves, or in which it begins.
    """

    seconds: float
    timers: Names
    spot: Spot
    why: str = ""
    moves: tuple[str, ...] = ()
    state: str = ""


class Rest:
    """The moves at rest."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.turn = TurnSide(flow, Bounds(), timed=True)

    def waits(self, spot: Spot) -> bool:
        """The host asks at once, but the flow may refuse."""
        return not self.turn.at_once(spot.here, spot.view)

    def steps(self, spot: Spot) -> Iterator[Step[Spot, str]]:
        """The moves that do not end the wait."""
        host, timers = self.turn.host, self.flow.states[self.state(spot)].after
        happens = [(s.text, s.trigger, s.here) for s in self.turn.heard(spot.here)]
        happens += [("the voice is long enough to interrupt", "barge_in", spot.here)]
        happens += [(f"{timer} fires", timer, spot.here) for timer in timers]
        for text, trigger, here in happens:
            if trigger == "barge_in" and not spot.here.voice:
                continue
            declared = trigger in self.flow.triggers or trigger in self.flow.timers
            for node, taken in host.post(here, spot.view, trigger) if declared else ():
                if taken is None and trigger in self.flow.timers:
                    continue  # it is due from now on
                for there, ops in host.carried(here._replace(node=node), spot.view, taken):
                    after = spot._replace(here=there)
                    if ops or there.committed or not self.waits(after):
                        continue
                    again = frozenset(taken.restarts) if taken is not None else frozenset[str]()
                    again |= {trigger} if trigger in self.flow.timers else set()
                    entered = taken is not None and taken.entered
                    if entered or again or after != spot:
                        yield after, None if entered else again, text

    def usable(self, spot: Spot) -> Iterator[str]:
        """The timers that bound the wait here: each is taken for any answers of the host."""
        for timer in self.flow.states[self.state(spot)].after:
            if self.flow.timers[timer] < inf and (spot.here.voice or self._acts(spot, timer)):
                yield timer
        if spot.here.voice:
            yield VOICE

    def _acts(self, spot: Spot, timer: str) -> bool:
        host = self.turn.host
        for node, taken in host.post(spot.here, spot.view, timer):
            moved = spot.here._replace(node=node)
            done = host.carried(moved, spot.view, taken)
            ends = all(ops or there.committed for there, ops in done)
            if taken is None or not (ends or taken.entered or moved != spot.here):
                return False
        return True

    def state(self, spot: Spot) -> str:
        return self.turn.host.state(spot.here)


def longest_rest(flow: Flow, starts: Iterable[Spot]) -> Unasked | None:
    """The longest wait from these spots; None if none is a wait."""
    rest = Rest(flow)
    timing = rest.turn.host.timing
    first: dict[Spot, Spot] = {}
    for start in starts:
        for facts in subsets(timing):  # they were not followed
            spot = start._replace(here=start.here._replace(node=start.here.node | facts))
            if rest.waits(spot):
                first.setdefault(spot, start)
    steps: dict[Spot, list[Step[Spot, str]]] = {}
    queue = [*first]
    for spot in queue:
        if spot not in steps:
            steps[spot] = list(rest.steps(spot))
            queue += [there for there, _, _ in steps[spot]]
    if not steps:
        return None
    waits = Stretches(steps, {spot: [*rest.usable(spot)] for spot in steps}, flow.timers)
    spot = max(first, key=waits.worst.__getitem__)
    seconds = waits.worst[spot]
    if seconds < inf:
        return Unasked(seconds, tuple(waits.charged(spot)), first[spot])
    way = waits.endless(spot)
    moves = [text for _, _, text in way.steps]
    state = rest.state(spot if way.stuck is None else way.stuck)
    why = "no timer ends the wait" if way.stuck is None else f"no timer of {state} ends the wait"
    if way.stuck is None:
        moves += ["and so on: " + ", ".join(dict.fromkeys(moves[way.first :]))]
    return Unasked(inf, (), first[spot], why, tuple(moves), state)
