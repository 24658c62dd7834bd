"""Finds the shortest paths that cover a flow: every state, every row, every outcome of a guard.

A path starts in the initial state. Before each step the host's answers are set. Then comes one
trigger, which belongs to the current step or turn, or one timer of the state fires.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Protocol

import attrs

from .flow import Flow
from .program import Program, compile_flow
from .verdicts import Taken

__all__ = ["Cover", "CoveringPath", "Environment", "PathMove", "PathStep", "cover"]

_APART = 20.0
_NONE = frozenset[str]()


@attrs.frozen
class PathMove:
    """One step that the flow allows, to be judged by an `Environment`.

    Attributes:
        source, state: The state before and after.
        before: The facts that were true before; host facts left out.
        host_facts: The host's answers that decide on it.
        verdict: ``taken``, or the reason of the refusal.
    """

    source: str
    before: frozenset[str]
    trigger: str
    host_facts: Mapping[str, bool]
    verdict: str
    row: str | None
    state: str
    actions: tuple[str, ...]


class Environment(Protocol):
    """The environment of a flow: which moves can follow the earlier ones."""

    @property
    def start(self) -> Hashable:
        """Its initial memory."""

    def after(self, memory: Hashable, move: PathMove) -> Hashable | None:
        """Its memory after a move; None if the move cannot come."""


class _Anything:
    start = ()

    def after(self, memory: Hashable, move: PathMove) -> Hashable | None:
        return memory


@attrs.frozen
class PathStep:
    """One trigger, and its expected outcome.

    Attributes:
        trigger: The trigger or, if `timer`, the timer that fires.
        of: The step or turn that the trigger belongs to, or that it begins.
        host_facts: The host's answers that decide on it.
        verdict: ``taken``, or the reason of the refusal.
        row: The row that is taken; None for a refusal and where an event only changes facts.
        state, facts, actions: The state, the true facts (host facts left out) and the host's
            actions afterwards.
    """

    trigger: str
    timer: bool
    of: str | None
    host_facts: Mapping[str, bool]
    verdict: str
    row: str | None
    state: str
    facts: tuple[str, ...]
    actions: tuple[str, ...]


@attrs.frozen
class CoveringPath:
    """One path and its goal.

    Attributes:
        covers: The goals that no earlier path covers: ``state S``, ``row ID``, ``refused
            S.TRIGGER`` or, for an event that no guard lets through, ``facts only S.TRIGGER``.
        timers: Seconds with which the timers fire in this order and no other timer fires before.
            Empty if the path fires none; None if no seconds can do it.
    """

    covers: tuple[str, ...]
    steps: tuple[PathStep, ...]
    timers: Mapping[str, float] | None

    @property
    def name(self) -> str:
        """Its goal."""
        return self.covers[0]


@attrs.frozen
class Cover:
    """The paths through a flow.

    Attributes:
        unreachable: The goals that no path covers, named as in `CoveringPath.covers`.
    """

    flow: str
    paths: tuple[CoveringPath, ...]
    unreachable: tuple[str, ...]


def cover(flow: Flow, world: Environment | None = None, longest: int | None = None) -> Cover:
    """The shortest path to each goal, without those that a longer path covers.

    Args:
        world: Says which move can follow which; by default any move at any time.
        longest: The maximum number of steps of a path; by default unlimited.
    """
    search = _Search(flow, world or _Anything(), longest)
    found = search.run()
    ways = sorted(found.items(), key=lambda item: -len(item[1]))  # stable: goals keep their order
    covered: set[str] = set()
    paths = []
    for goal, way in ways:
        if goal not in covered:
            goals = [goal, *(g for g in search.along(way) if g not in covered and g != goal)]
            covered |= {*goals}
            steps = tuple(way)
            paths.append(CoveringPath(tuple(goals), steps, _seconds(flow, steps)))
    missed = tuple(goal for goal in search.goals if goal not in found)
    return Cover(flow.name, tuple(paths), missed)


# State, facts except host facts, current scopes, memory of the world.
_Node = tuple[str, int, tuple[str, ...], Hashable]


class _Search:
    """Breadth-first search over the machine's own steps, so the first path to a goal is the
    shortest."""

    def __init__(self, flow: Flow, world: Environment, longest: int | None) -> None:
        self.flow, self.world, self.longest = flow, world, longest
        self.program: Program = compile_flow(flow)
        self.goals = tuple(self._goals())
        fenced = {*self.program.fences.values()}
        self.begins = {t: frozenset(fenced & {*begun}) for t, begun in self.program.begins.items()}
        self.ends = {t: frozenset(ended) for t, ended in self.program.ends.items()}
        self.hosts: dict[tuple[str, ...], tuple[tuple[Mapping[str, bool], int], ...]] = {}
        self.answers: dict[tuple[str, int], tuple[_Answer, ...]] = {}
        self.links: dict[_Node, tuple[_Node, _Move] | None] = {}
        self.depth: dict[_Node, int] = {}

    def _goals(self) -> Iterator[str]:
        yield from (f"state {name}" for name in self.flow.states)
        guarded: dict[tuple[str, str], bool] = {}
        for row in self.flow.rows():
            yield f"row {row.id}"
            free = not (row.transition.conditions or row.transition.unless)
            where = row.source, row.trigger
            guarded[where] = guarded.get(where, True) and not free
        for (state, trigger), all_ in guarded.items():
            if all_:
                body = self.flow.triggers.get(trigger)
                event = body is not None and body.kind == "event"
                yield f"{'facts only' if event else 'refused'} {state}.{trigger}"

    def run(self) -> dict[str, list[PathStep]]:
        """The shortest path to each goal."""
        start: _Node = (self.flow.initial, 0, (), self.world.start)
        self.links[start], self.depth[start] = None, 0
        ends: dict[str, tuple[_Node, _Move | None]] = {f"state {start[0]}": (start, None)}
        wanted = {*self.goals} - {*ends}
        queue = deque([start])
        while queue and wanted:
            node = queue.popleft()
            for move in self._moves(node):
                for goal in move.meets & wanted:
                    ends[goal] = (node, move)
                wanted -= move.meets
                self._follow(node, move, queue)
        return {goal: self._path(*ends[goal]) for goal in self.goals if goal in ends}

    def _follow(self, node: _Node, move: _Move, queue: deque[_Node]) -> None:
        if move.node in self.links:
            return
        self.links[move.node], depth = (node, move), self.depth[node] + 1
        self.depth[move.node] = depth
        if self.longest is None or depth < self.longest:
            queue.append(move.node)

    def along(self, way: Iterable[PathStep]) -> Iterator[str]:
        """The goals that a path reaches, in order."""
        state = self.flow.initial
        yield f"state {state}"
        for step in way:
            yield from sorted(_meets(state, step.trigger, step.verdict, step.row, step.state))
            state = step.state

    def _moves(self, node: _Node) -> Iterator[_Move]:
        state, facts, scopes, memory = node
        if (answers := self.answers.get((state, facts))) is None:
            answers = self.answers[state, facts] = tuple(self._answers(state, facts))
        for answer in answers:
            if answer.fence is not None and answer.fence not in scopes:
                continue  # no scope is current that it could belong to
            if (after := self.world.after(memory, answer.move)) is None:
                continue
            current = scopes
            if answer.begins or answer.ends:
                current = tuple(sorted((frozenset(scopes) | answer.begins) - answer.ends))
            to = answer.move.state, answer.facts, current, after
            yield _Move(answer.move, to, answer.meets)

    def _answers(self, state: str, facts: int) -> Iterator[_Answer]:
        """The machine's moves from here, independent of the world's memory."""
        program = self.program
        before, rows = frozenset(program.names(facts)), program.rows[state]
        for trigger in (*self.flow.triggers, *rows.timers):
            fence = self._fence(trigger)
            for host_facts, bits in self._hosts(rows.asks.get(trigger, ())):
                after, answer, _ = program.configuration(rows, facts | bits)[trigger]
                begins = ends = _NONE
                row, actions, held = None, tuple[str, ...](), after.state
                if isinstance(answer, Taken):
                    verdict, row, actions = "taken", answer.row, answer.actions
                    begins = self.begins.get(trigger, _NONE)
                    ends = self.ends.get(trigger, _NONE)
                else:
                    verdict = answer.reason
                move = PathMove(state, before, trigger, host_facts, verdict, row, held, actions)
                meets = _meets(state, trigger, verdict, row, held)
                yield _Answer(fence, move, after.facts & ~program.host_mask, begins, ends, meets)

    def _hosts(self, asked: tuple[str, ...]) -> tuple[tuple[Mapping[str, bool], int], ...]:
        """The host's possible answers, each with the bits of those that are true."""
        if asked not in self.hosts:
            said = [
                dict(zip(asked, v, strict=True)) for v in product((False, True), repeat=len(asked))
            ]
            bits = self.program.bits
            self.hosts[asked] = tuple((one, sum(bits[n] for n in asked if one[n])) for one in said)
        return self.hosts[asked]

    def _fence(self, trigger: str) -> str | None:
        return self.program.compared.get(trigger)

    def _path(self, node: _Node, last: _Move | None) -> list[PathStep]:
        moves = [last] if last else []
        while (link := self.links[node]) is not None:
            node, move = link
            moves.append(move)
        return list(self._steps(reversed(moves)))

    def _steps(self, links: Iterable[_Move]) -> Iterator[PathStep]:
        current: dict[str, str] = {}
        begun: dict[str, int] = {}
        for link in links:
            move = link.move
            of = self._of(move, current, begun)
            for scope in self.program.ends.get(move.trigger, ()) if move.verdict == "taken" else ():
                current.pop(scope, None)
            names = self.program.names(link.node[1])
            yield PathStep(
                move.trigger, move.trigger in self.flow.timers, of, move.host_facts, move.verdict,
                move.row, move.state, names, move.actions,
            )  # fmt: skip

    def _of(self, move: PathMove, current: dict[str, str], begun: dict[str, int]) -> str | None:
        scopes = self.program.begins.get(move.trigger, ())
        fence = self._fence(move.trigger)
        if scopes and not fence and move.trigger not in self.flow.timers:
            name = scopes[0]
            token = f"{name} {begun.get(name, 0) + 1}"
            if move.verdict == "taken":
                begun[name] = begun.get(name, 0) + 1
                current |= dict.fromkeys(scopes, token)
            return token
        if fence is None:
            return None
        if move.verdict == "taken":
            current |= dict.fromkeys(scopes, current[fence])
        return current[fence]


@attrs.frozen
class _Answer:
    """One step of the machine; `fence` is the scope that the trigger must belong to."""

    fence: str | None
    move: PathMove
    facts: int
    begins: frozenset[str]
    ends: frozenset[str]
    meets: frozenset[str]


@attrs.frozen
class _Move:
    move: PathMove
    node: _Node
    meets: frozenset[str]


@lru_cache(maxsize=4096)
def _meets(state: str, trigger: str, verdict: str, row: str | None, after: str) -> frozenset[str]:
    if verdict == "taken":
        taken = f"row {row}" if row is not None else f"facts only {state}.{trigger}"
        return frozenset({f"state {after}", taken})
    return frozenset({f"refused {state}.{trigger}"} if verdict == "guard" else ())


def _seconds(flow: Flow, steps: tuple[PathStep, ...]) -> dict[str, float] | None:
    """Seconds with which each timer of a path fires before the others of its state."""
    earlier: dict[str, set[str]] = {}
    state = flow.initial
    for step in steps:
        if step.timer:
            for other in flow.states[state].after:
                if other != step.trigger:
                    earlier.setdefault(other, set()).add(step.trigger)
            earlier.setdefault(step.trigger, set())
        state = step.state
    rank: dict[str, float] = {}
    while len(rank) < len(earlier):
        free = [t for t, before in earlier.items() if t not in rank and before <= {*rank}]
        if not free:
            return None
        rank |= dict.fromkeys(free, max(rank.values(), default=1.0 / _APART) * _APART)
    return rank
