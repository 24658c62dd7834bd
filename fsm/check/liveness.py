"""What happens when no event comes any more: timers fire, and running effects may end.

Only timers and the ends of effects change facts then, and the host's answers stay as they are,
whatever they are. Any timer of a
state may be the one that fires, so that the proof holds for all seconds that a session gives its
timers; the worst case takes the shortest timer that must fire, as declared. A running effect may
end, but need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import attrs

from turnfsm.fsm.machine import Taken

from .parts import subsets
from .space import StateSpace

__all__ = ["Goal", "Quiet", "Run"]

Goal: TypeAlias = Callable[[str, tuple[str, ...]], bool]
"""Whether a state, or the actions on the way into it, are the goal."""

_Spot: TypeAlias = tuple[str, int, frozenset[str]]  # state, facts, effects under way
# What happened, where to, the actions, and whether the state was entered.
_Next: TypeAlias = tuple[str, _Spot, tuple[str, ...], bool]


@attrs.frozen
class Run:
    """How a run without events ends.

    Attributes:
        reached: The goal is reached, whatever timer fires.
        seconds: No later than this; infinite if it is not reached.
        timers: The timers that add up to it, or the way into the stuck state or the circle.
        why: Why the goal is not reached.
        end: The state that no timer leaves, if that is why.
    """

    reached: bool
    seconds: float
    timers: tuple[str, ...]
    why: str = ""
    end: str | None = None


class Quiet:
    """The runs without events to one goal."""

    def __init__(self, model: StateSpace, goal: Goal) -> None:
        self.model, self.goal = model, goal
        self.flow, self.program = model.flow, model.program
        self.effects = frozenset(n for n, a in self.flow.actions.items() if a.done or a.failed)
        self._runs: dict[tuple[_Spot, int], Run] = {}
        self._nexts: dict[tuple[_Spot, int], list[_Next]] = {}
        self.reads = self._reads()

    def _reads(self) -> int:
        read = 0
        for state, rows in self.program.rows.items():
            for trigger in (*self.flow.states[state].after, *self._ends(self.effects)):
                for alternative in rows.get(trigger, ()):
                    read |= alternative[0]
        return read

    def _ends(self, effects: frozenset[str]) -> Iterator[str]:
        for name in sorted(effects):
            body = self.flow.actions[name]
            yield from (t for t in (body.done, body.failed) if t is not None)

    def spots(self, nodes: Iterable[int]) -> Iterator[int]:
        """One configuration for each way in which quiet runs can differ, the nearest first."""
        mask = self.reads & ~self._host_facts | -1 << self.model.bits.shift
        seen: set[int] = set()
        for node in nodes:
            if node & mask not in seen:
                seen.add(node & mask)
                yield node

    def worst(self, node: int) -> tuple[Run, int]:
        """The worst run from a configuration, and what the host then answers."""
        spot = (
            self.model.state(node),
            node & self.reads & ~self.model.bits.host_facts,
            self.effects,
        )
        runs = (
            (self._run(spot, host_facts), host_facts)
            for host_facts in subsets(self.reads & self._host_facts)
        )
        return max(runs, key=lambda pair: (not pair[0].reached, pair[0].seconds))

    def one_timer_reaches(self, node: int) -> bool:
        """Whether a timer of the state reaches the goal at once if the host says yes to nothing."""
        spot = (self.model.state(node), node & self.reads & ~self._host_facts, self.effects)
        return any(self._hits(after) for after in self._fired(spot, 0))

    @property
    def _host_facts(self) -> int:
        return self.model.bits.host_facts

    def _run(self, start: _Spot, host_facts: int) -> Run:
        """Depth first without recursion: a flow may chain more timers than Python has frames."""
        if (known := self._runs.get((start, host_facts))) is not None:
            return known
        trail = dict.fromkeys([start])  # each spot leads to the next; none has its run yet
        while trail:
            spot = next(reversed(trail))
            moves = self._moves(spot, host_facts)
            on = [after for after in moves if not self._hits(after)]
            waiting = [after[1] for after in on if (after[1], host_facts) not in self._runs]
            back = next((after for after in on if after[1] in trail), None)
            if waiting and back is None:
                trail[waiting[0]] = None
                continue
            run = _circle([*trail], back) if back else self._joined(spot, moves, host_facts)
            self._runs[spot, host_facts] = run
            del trail[spot]
        return self._runs[start, host_facts]

    def _joined(self, spot: _Spot, moves: list[_Next], host_facts: int) -> Run:
        """The worst of what can happen next; every other spot that is led to has its run."""
        if self.goal(spot[0], ()):
            return Run(True, 0.0, ())
        if not moves:
            return Run(False, float("inf"), (), self._stuck(spot, host_facts), spot[0])
        timers = {after[0] for after in moves if after[0] in self.flow.timers}
        timer = min(timers, key=self.flow.timers.__getitem__)
        runs = [self._join(timer, after, host_facts) for after in moves]
        return max(runs, key=lambda run: (not run.reached, run.seconds))

    def _stuck(self, spot: _Spot, host_facts: int) -> str:
        """The state has no timer, or none of its timers goes anywhere with these facts."""
        state, why = spot[0], []
        for timer in self.flow.states[state].after:
            if self._take(spot, timer, host_facts) is None:
                facts = spot[1] | host_facts
                refused = self.program.refusal(self.program.rows[state], timer, facts)
                why.append(f"{timer} is refused ({refused.why})")
            else:
                why.append(f"{timer} changes nothing")
        return f"no timer leaves {state}" + (f": {', '.join(why)}" if why else "")

    def _moves(self, spot: _Spot, host_facts: int) -> list[_Next]:
        """The timers that can fire, then the ends of what is under way; none from the goal."""
        key = (spot, host_facts)
        if key not in self._nexts:
            self._nexts[key] = [] if self.goal(spot[0], ()) else self._expand(spot, host_facts)
        return self._nexts[key]

    def _expand(self, spot: _Spot, host_facts: int) -> list[_Next]:
        fired = self._fired(spot, host_facts)
        moves = [after for after in fired if after[1] != spot or after[3] or self._hits(after)]
        if not moves:
            return []
        ends = [
            self._after(spot, trigger, answer, over=name)
            for name in sorted(spot[2])
            for trigger in self._ends(frozenset((name,)))
            if (answer := self._take(spot, trigger, host_facts))
        ]
        # One that changes nothing that a timer looks at takes no time: the timers go on.
        return moves + [end for end in ends if end[1][:2] != spot[:2] or end[2] or end[3]]

    def _hits(self, after: _Next) -> bool:
        return self.goal(after[1][0], after[2])

    def _fired(self, spot: _Spot, host_facts: int) -> list[_Next]:
        """The timers that can fire.

        One whose guard does not hold starts again, and changes nothing.
        """
        timers = self.flow.states[spot[0]].after
        return [
            self._after(spot, timer, answer)
            for timer in timers
            if (answer := self._take(spot, timer, host_facts))
        ]

    def _join(self, timer: str, after: _Next, host_facts: int) -> Run:
        name, spot = after[:2]
        run = Run(True, 0.0, ()) if self._hits(after) else self._runs[spot, host_facts]
        here = name if not run.reached else timer
        timers = (here, *run.timers)
        seconds = run.seconds + self.flow.timers[timer]
        return Run(run.reached, seconds, timers, run.why, run.end)

    def _take(self, spot: _Spot, trigger: str, host_facts: int) -> Taken | None:
        facts = spot[1] | host_facts
        for mask, want, _keep, _set, _dest, taken in self.program.rows[spot[0]].get(trigger, ()):
            if facts & mask == want:
                answer: Taken = taken
                return answer
        return None

    def _after(self, spot: _Spot, trigger: str, answer: Taken, over: str = "") -> _Next:
        keep, set_ = next(
            (row[2], row[3]) for row in self.program.rows[spot[0]][trigger] if row[5] is answer
        )
        started = self.effects & frozenset(answer.actions)
        facts = (spot[1] & keep | set_) & self.reads & ~self._host_facts
        there = (answer.dest, facts, spot[2] - {over} | started)
        return trigger, there, answer.actions, answer.entered


def _circle(trail: list[_Spot], back: _Next) -> Run:
    name, spot = back[:2]
    states = [*(there[0] for there in trail[trail.index(spot) :]), spot[0]]
    shown = states if len(states) <= 8 else [*states[:4], "...", *states[-3:]]
    return Run(
        False, float("inf"), (name,), f"timers go round in an endless circle: {' -> '.join(shown)}"
    )
