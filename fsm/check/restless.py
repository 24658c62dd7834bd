"""How long a wait can last in an environment that never rests.

Every trigger may come at any moment, any number of times, and the host may answer anything at every
decision. So a timer bounds a wait only as long as nothing starts it again, and only where it is
taken whatever the host answers. A run is cut into stretches, and each is charged to one timer that
runs on through it: the wait lasts no longer than the seconds of these timers. If there is no such
division, the wait has no bound, and there are triggers that prolong it forever.

Timers may fire at any moment, too: so the division is valid for all seconds that a session gives
its timers. Only the sum uses those of the flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf
from typing import TypeAlias

import attrs

from turnfsm.fsm.machine import Taken

from .cone import Choice, Effect, bits_that_matter
from .explore import Exploration
from .parts import Edge, Move, subsets
from .space import StateSpace
from .stretches import VOICE, Endless, Step, Stretches

__all__ = ["Goal", "Restless", "Run"]

Goal: TypeAlias = Callable[[str, tuple[str, ...]], bool]
"""Whether a state, or the actions on the way into it, are the goal."""

_SOME_LIMIT = 1e6  # seconds of a limit that is not set, longer than any that is
_Step: TypeAlias = "Step[int, Edge]"


@attrs.frozen
class Run:
    """The longest wait from a configuration.

    Attributes:
        seconds: No longer than this; infinite if nothing bounds it.
        timers: The timers that add up to it.
        why: Why it has no bound.
        end: The state that no timer leaves, if that is why.
        loop: The moves that can be repeated forever, with the configuration before each.
        first: The move of `loop` with which the repetition begins.
    """

    seconds: float
    timers: tuple[str, ...] = ()
    why: str = ""
    end: str | None = None
    loop: tuple[tuple[int, Edge], ...] = ()
    first: int = 0


class Restless:
    """The waits for one goal.

    Args:
        goal: What is waited for.
        over: The moves that end the wait without the goal: what it is not about.
        free: The bits of which one is set while time does not count.
        reads: More bits that tell configurations apart.
        denied: The host facts that are false throughout.
        limited: A timer that is `never` has seconds: the session has limits. Otherwise it may fire,
            as any timer, and bounds nothing.
    """

    def __init__(
        self,
        model: StateSpace,
        found: Exploration,
        goal: Goal,
        over: Callable[[Move], bool],
        *,
        free: int = 0,
        reads: int = 0,
        denied: int = 0,
        limited: bool = False,
    ) -> None:
        self.model, self.found = model, found
        self.goal, self.over, self.free, self.denied = goal, over, free, denied
        self.voice = model.bits.ghosts.get("user_speaking", 0)
        self.seconds = {**model.flow.timers}
        if limited:
            self.seconds = {name: min(s, _SOME_LIMIT) for name, s in self.seconds.items()}
        self.masks = self._cone(reads | free | self.voice)
        self.steps: dict[int, list[_Step]] = {}
        self._valid: dict[tuple[int, str], bool] = {}

    def longest(self, starts: Iterable[int]) -> tuple[int, Run] | None:
        """The configuration with the longest wait, the nearest of them, and that wait."""
        nearest: dict[int, int] = {}
        for node in starts:
            if not self.goal(self.model.state(node), ()):
                nearest.setdefault(self._spot(node), node)
        if not nearest:
            return None
        self._reach(nearest)
        usable = {spot: tuple(self._usable(spot)) for spot in self.steps}
        waits = Stretches(self.steps, usable, self.seconds)
        spot = max(nearest, key=waits.worst.__getitem__)
        node, seconds = nearest[spot], waits.worst[spot]
        if seconds == inf:
            return node, self._endless(node, waits.endless(spot))
        return node, Run(seconds, tuple(waits.charged(spot)))

    # -- the graph: configurations that differ in what matters to the wait

    def _cone(self, reads: int) -> dict[int, int]:
        """For each state the bits that tell its spots apart, and those of the state itself."""
        choices, above = list[Choice](), -1 << self.model.bits.shift
        timers = dict.fromkeys(self.found.tables, reads)
        for state, moves in self.found.tables.items():
            choices.append(Choice(state, 0, tuple(self._effects(moves.fixed))))
            for decides, table, trigger in moves.tables:
                edges = chain.from_iterable(table.values())
                choices.append(Choice(state, decides, tuple(self._effects(edges))))
                if trigger in self.model.flow.timers:
                    timers[state] |= decides
        matter = bits_that_matter(choices, timers)
        return {state: bits | above for state, bits in matter.items()}

    def _effects(self, edges: Iterable[Edge]) -> Iterator[Effect]:
        """What the moves do that do not end the wait."""
        for keep, set_, _alarms, move in edges:
            if not self._ends(move):
                dest, again = self.model.index[move.dest], move.entered or bool(move.restarts)
                yield Effect(dest, keep & ~set_, ~keep | set_, again)

    def _ends(self, move: Move) -> bool:
        """The move leads to the goal, is what the wait is not about, or does not come."""
        denied = move.host_facts & self.denied
        return bool(denied) or self.over(move) or self.goal(move.dest, move.actions)

    def _spot(self, node: int) -> int:
        """What matters of a configuration."""
        return node & self.masks[node >> self.model.bits.shift]

    def _reach(self, nearest: dict[int, int]) -> None:
        """The graph that the starts lead to, up to the goal."""
        queue = list(nearest.items())
        self._actual = dict(nearest)
        for spot, node in queue:
            steps: dict[tuple[int, frozenset[str] | None], _Step] = {}
            for edge in self.found.tables[node >> self.model.bits.shift].at(node):
                step = self._step(node, edge)
                if step is not None:
                    steps.setdefault(step[:2], step)
            self.steps[spot] = list(steps.values())
            for there, _, edge in self.steps[spot]:
                if there not in self._actual:
                    reached = node & edge[0] | edge[1]
                    self._actual[there] = reached
                    queue.append((there, reached))

    def _step(self, node: int, edge: Edge) -> _Step | None:
        move = edge[3]
        if self._ends(move) or self._unheard(move, node):
            return None
        there = self._spot(node & edge[0] | edge[1])
        if move.entered:
            return there, None, edge
        again = {*move.restarts}
        if move.trigger in self.model.flow.timers:
            again.add(move.trigger)
        if there == self._spot(node) and not again:
            return None
        return there, frozenset(again), edge

    def _unheard(self, move: Move, node: int) -> bool:
        """A voice that begins while one is heard, or ends while none is."""
        if move.trigger == "user_started_speaking":
            return bool(node & self.voice)
        return move.trigger == "user_stopped_speaking" and self.voice & ~node != 0

    # -- the longest wait

    def _usable(self, spot: int) -> Iterator[str]:
        """The timers that bound a wait here: each is taken at the latest when it is due."""
        state = self.model.state(spot)
        for timer in self.model.flow.states[state].after:
            key = spot, timer
            if key not in self._valid:
                self._valid[key] = self.seconds[timer] < inf and (
                    bool(spot & self.free) or self._taken(state, timer, spot)
                )
            if self._valid[key]:
                yield timer
        if spot & self.free:
            yield VOICE

    def _taken(self, state: str, timer: str, spot: int) -> bool:
        """Whether the timer is taken, and changes something, whatever the host answers."""
        host = self.model.host_facts(state, timer) & ~self.denied
        answers = (self.model.answer(state, timer, True, spot | facts) for facts in subsets(host))
        return all(answer is not None and self._moves(spot, answer) for answer in answers)

    def _moves(self, spot: int, answer: Taken) -> bool:
        move = Move(answer.state, answer.trigger, "", answer)
        if self.goal(answer.dest, answer.actions):
            return True
        if self.over(move):
            return False
        return answer.entered or self._spot(self.model.after(move, spot)) != spot

    def _endless(self, node: int, way: Endless[int, Edge]) -> Run:
        """The way into moves that can be repeated forever, or into a state that no timer leaves."""
        moves = list[tuple[int, Edge]]()
        for step in way.steps:
            edge = next(
                edge
                for edge in self.found.tables[node >> self.model.bits.shift].at(node)
                if (taken := self._step(node, edge)) is not None and taken[:2] == step[:2]
            )
            moves.append((node, edge))
            node = node & edge[0] | edge[1]
        if way.stuck is None:
            return Run(inf, (), self._round(moves, way.first), None, tuple(moves), way.first)
        state = self.model.state(way.stuck)
        return Run(inf, (), self._stuck(way.stuck), state, tuple(moves), way.first)

    def _stuck(self, spot: int) -> str:
        """The state has no timer, or none of its timers is sure to go anywhere from here."""
        state = self.model.state(spot)
        why = [self._refused(state, timer, spot) for timer in self.model.flow.states[state].after]
        return f"no timer leaves {state}" + (f": {', '.join(why)}" if why else "")

    def _refused(self, state: str, timer: str, spot: int) -> str:
        program, host = self.model.program, self.model.host_facts(state, timer) & ~self.denied
        if self.seconds[timer] == inf:
            return f"{timer} is never"
        for facts in subsets(host):
            if self.model.answer(state, timer, True, spot | facts) is None:
                why = program.refusal(program.rows[state], timer, spot | facts).why
                return f"{timer} is refused ({why})"
        return f"{timer} changes nothing"

    def _round(self, moves: list[tuple[int, Edge]], first: int) -> str:
        triggers = dict.fromkeys(edge[3].trigger for _, edge in moves[first:])
        return f"{', '.join(triggers)} can come again and again, and no timer ends the wait"
