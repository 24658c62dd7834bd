"""Computes how long a wait can last in an environment that never rests.

Every trigger may come at any moment, any number of times, and the host may give any answer at every
decision. So a timer bounds a wait only until something restarts it, and only if it is taken for
every answer of the host. A run is divided into stretches, each charged to one timer that keeps
running through it: the wait lasts no longer than the seconds of these timers together. If there is
no such division, the wait has no bound, and some triggers can prolong it forever.

Timers may also fire at any moment, so the division is valid for any seconds that a session sets.
Only the sum uses the flow's seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf
from typing import TypeAlias

import attrs

from turnfsm.fsm.flow import Names
from turnfsm.fsm.machine import Taken

from .cone import Choice, Effect, bits_that_matter
from .explore import Exploration
from .parts import Edge, Move, subsets
from .space import StateSpace
from .stretches import VOICE, Endless, Step, Stretches

__all__ = ["Goal", "Over", "Restless", "Run", "Wait"]

Goal: TypeAlias = Callable[[str, tuple[str, ...]], bool]
"""Whether a state, or the actions on the way into it, are the goal."""

Over: TypeAlias = Callable[[Move], bool]
"""Whether a move ends a wait without its goal."""

_SOME_LIMIT = 1e6  # seconds of a limit that is not set, longer than any real one
_Step: TypeAlias = "Step[int, Edge]"


@attrs.frozen
class Wait:
    """The promise that `goal` is reached from every configuration that `start` accepts.

    Attributes:
        start: Whether it begins in a configuration of `states`; of any state if there are none.
        over: The moves that end the wait without the goal. All other moves may happen at any
            moment, any number of times.
        within: The timer that bounds it; None for any finite time.
        at_most: A bound in seconds, whatever the timer's seconds are.
        free: Time does not count while one of these bits is set.
        reads: More bits that distinguish configurations.
        denied, granted: The host facts that are false, or true, throughout.
        lasts: Whether the wait goes on in a configuration; None: until the goal.
        limited: It need only hold if the session sets limits, so that timers that are `never` have
            seconds. Otherwise they may fire, but bound nothing.
    """

    property: str
    promise: str
    start: Callable[[int], bool]
    goal: Goal
    over: Over
    within: str | None = None
    builtin: bool = True
    at_most: float = float("inf")
    free: int = 0
    reads: int = 0
    denied: int = 0
    granted: int = 0
    lasts: Callable[[int], bool] | None = None
    limited: bool = False
    states: Names = ()


@attrs.frozen
class Run:
    """The longest wait from a configuration.

    Attributes:
        seconds: No longer than this; infinite if nothing bounds it.
        timers: The timers that add up to it.
        why: Why it has no bound.
        end: The state that no timer leaves, if that is the reason.
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
    """How long one kind of wait lasts."""

    def __init__(self, model: StateSpace, exploration: Exploration, wait: Wait) -> None:
        self.model, self.found, self.wait = model, exploration, wait
        self.voice = model.bits.ghosts.get("user_speaking", 0)
        self.seconds = {**model.flow.timers}
        if wait.limited:
            self.seconds = {name: min(s, _SOME_LIMIT) for name, s in self.seconds.items()}
        self._ended: dict[int, bool] = {}  # by the identity of the moves of `found`
        self.masks = self._cone(wait.reads | wait.free | self.voice)
        self.steps: dict[int, list[_Step]] = {}
        self._valid: dict[tuple[int, str], bool] = {}
        self._goes_on: dict[int, tuple[Edge, ...]] = {}

    def longest(self) -> tuple[int, Run] | None:
        """The nearest configuration with the longest wait, and that wait."""
        nearest: dict[int, int] = {}
        shift, order, start = self.model.bits.shift, self.model.order, self.wait.start
        begins = {
            i: self.masks[i]
            for i in self.found.tables
            if order[i] in (self.wait.states or order) and not self.wait.goal(order[i], ())
        }
        for node in self.found.links:
            if (state := node >> shift) in begins and start(node):
                nearest.setdefault(node & begins[state], node)
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

    # -- the graph: configurations, distinguished by the bits that matter to the wait

    def _cone(self, reads: int) -> dict[int, int]:
        """For each state the bits that distinguish its spots, and those of the state itself."""
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
        """The effects of the moves that do not end the wait."""
        for keep, set_, _alarms, move in edges:
            if not self._ends(move):
                dest, again = self.model.index[move.dest], move.entered or bool(move.restarts)
                yield Effect(dest, keep & ~set_, ~keep | set_, again)

    def _ends(self, move: Move) -> bool:
        known = self._ended.get(id(move))
        if known is None:
            known = self.wait.over(move) or self.wait.goal(move.dest, move.actions)
            self._ended[id(move)] = known
        return known

    def _spot(self, node: int) -> int:
        return node & self.masks[node >> self.model.bits.shift]

    def _reach(self, nearest: dict[int, int]) -> None:
        """The graph that is reachable from the starts, up to the goal."""
        queue = list(nearest.items())
        self._actual = dict(nearest)
        for spot, node in queue:
            steps: dict[tuple[int, frozenset[str] | None], _Step] = {}
            for edge in self._onward(node):
                step = self._step(node, edge)
                if step is not None:
                    steps.setdefault(step[:2], step)
            self.steps[spot] = list(steps.values())
            for there, _, edge in self.steps[spot]:
                if there not in self._actual:
                    reached = node & edge[0] | edge[1]
                    self._actual[there] = reached
                    queue.append((there, reached))

    def _onward(self, node: int) -> tuple[Edge, ...]:
        """The moves of a configuration that do not end the wait."""
        moves = self.found.tables[node >> self.model.bits.shift]
        decides = node & (moves.reads | -1 << self.model.bits.shift)
        onward = self._goes_on.get(decides)
        if onward is None:
            onward = tuple(edge for edge in moves.at(node) if not self._ends(edge[3]))
            self._goes_on[decides] = onward
        return onward

    def _step(self, node: int, edge: Edge) -> _Step | None:
        move = edge[3]
        if self._unheard(move, node) or not self._comes(move, node):
            return None
        reached = node & edge[0] | edge[1]
        if self.wait.lasts is not None and not self.wait.lasts(reached):
            return None
        there = self._spot(reached)
        if move.entered and not move.keeps:
            return there, None, edge
        if move.entered:
            return there, frozenset(self.seconds) - {*move.keeps}, edge
        again = {*move.restarts}
        if move.trigger in self.model.flow.timers:
            again.add(move.trigger)
        if there == self._spot(node) and not again:
            return None
        return there, frozenset(again), edge

    def _comes(self, move: Move, node: int) -> bool:
        """Whether some answers of the host lead to this, with the facts that are known."""
        granted = self.wait.granted
        known = move.read & (self.wait.denied | granted)
        if not known or move.host_facts & known == granted & known or move.arrives == "stale":
            return True
        node |= known & granted
        answers = (
            self.model.answer(move.source, move.trigger, True, node | facts)
            for facts in subsets(move.read & ~known)
        )
        return any(_done(attrs.evolve(move, taken=answer)) == _done(move) for answer in answers)

    def _unheard(self, move: Move, node: int) -> bool:
        """Speech that begins while the user speaks, or ends while the user is silent."""
        if move.trigger == "user_started_speaking":
            return bool(node & self.voice)
        return move.trigger == "user_stopped_speaking" and self.voice & ~node != 0

    # -- the longest wait

    def _usable(self, spot: int) -> Iterator[str]:
        """The timers that bound a wait here: each is taken when it is due, at the latest."""
        state = self.model.state(spot)
        for timer in self.model.flow.states[state].after:
            key = spot, timer
            if key not in self._valid:
                self._valid[key] = self.seconds[timer] < inf and (
                    bool(spot & self.wait.free) or self._taken(state, timer, spot)
                )
            if self._valid[key]:
                yield timer
        if spot & self.wait.free:
            yield VOICE

    def _taken(self, state: str, timer: str, spot: int) -> bool:
        """Whether the timer is taken and changes something, for every answer of the host."""
        host = self.model.host_facts(state, timer) & ~self.wait.denied & ~self.wait.granted
        spot |= self.wait.granted
        answers = (self.model.answer(state, timer, True, spot | facts) for facts in subsets(host))
        return all(answer is not None and self._moves(spot, answer) for answer in answers)

    def _moves(self, spot: int, answer: Taken) -> bool:
        move = Move(answer.state, answer.trigger, "", answer)
        if self.wait.goal(answer.dest, answer.actions):
            return True
        if self.wait.over(move):
            return False
        return answer.entered or self._spot(self.model.after(move, spot)) != spot

    def _endless(self, node: int, way: Endless[int, Edge]) -> Run:
        """The path to moves that can be repeated forever, or to a state that no timer leaves."""
        moves = list[tuple[int, Edge]]()
        for step in way.steps:
            edge = next(
                edge
                for edge in self._onward(node)
                if (taken := self._step(node, edge)) is not None and taken[:2] == step[:2]
            )
            moves.append((node, edge))
            node = node & edge[0] | edge[1]
        if way.stuck is None:
            return Run(inf, (), self._round(moves, way.first), None, tuple(moves), way.first)
        state = self.model.state(way.stuck)
        return Run(inf, (), self._stuck(way.stuck), state, tuple(moves), way.first)

    def _stuck(self, spot: int) -> str:
        """Why no timer is certain to leave this configuration's state."""
        state = self.model.state(spot)
        why = [self._refused(state, timer, spot) for timer in self.model.flow.states[state].after]
        return f"no timer leaves {state}" + (f": {', '.join(why)}" if why else "")

    def _refused(self, state: str, timer: str, spot: int) -> str:
        program = self.model.program
        host = self.model.host_facts(state, timer) & ~self.wait.denied & ~self.wait.granted
        spot |= self.wait.granted
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


def _done(move: Move) -> tuple[object, ...]:
    """Its effect, whichever row has it."""
    return move.dest, move.entered, move.actions, move.restarts, move.keeps
