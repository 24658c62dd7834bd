"""The timers of the current state, with at most one event loop timer.

Entering a state only stores the time. The loop's timer is not reset: if it fires before the first
deadline, it is rescheduled then. Cancelling and setting it at every transition would cost eight
times as much, and asyncio keeps cancelled timers in memory.
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any
from weakref import WeakKeyDictionary

from turnfsm.fsm import Machine, Program, Verdict
from turnfsm.fsm.flow import NEVER

__all__ = ["Clock", "Plan", "StateTimers", "clock_of", "plan_of"]

Clock = Callable[[], float]

Plan = Mapping[str, tuple[float, tuple[tuple[str, float], ...]]]
"""State to the seconds of its first timer, infinite if it has none, and all of its timers in the
order of declaration."""

Deadline = tuple[float, str, str | None]
"""When it is due, which timer it is, and the last verdict if that changed nothing."""

_EPSILON = 1e-6  # seconds by which a loop may wake a timer too early

_PLANS: WeakKeyDictionary[Program, Plan] = WeakKeyDictionary()


def plan_of(program: Program, override: Mapping[str, float]) -> Plan:
    """The timers of every state; shared by all runtimes without overrides."""
    if override:
        return _plan(program, {**program.flow.timers, **override})
    plan = _PLANS.get(program)
    if plan is None:
        plan = _PLANS[program] = _plan(program, program.flow.timers)
    return plan


def _plan(program: Program, seconds: Mapping[str, float]) -> Plan:
    plan: dict[str, tuple[float, tuple[tuple[str, float], ...]]] = {}
    for state, rows in program.rows.items():
        own = tuple((t, seconds[t]) for t in rows.timers if seconds[t] != NEVER)
        plan[state] = min((s for _, s in own), default=math.inf), own
    return plan


def clock_of(loop: asyncio.AbstractEventLoop | None) -> Clock:
    """The loop's clock. For asyncio this is `time.monotonic` itself, without a wrapper."""
    if loop is None or getattr(loop.time, "__func__", None) is asyncio.BaseEventLoop.time:
        return time.monotonic
    return loop.time


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class StateTimers(ABC):
    """The part of a pump that keeps the time.

    Entering a state only stores the time; deadlines are computed when the loop's timer fires.
    """

    __slots__ = (
        "_deadlines", "_entered", "_handle", "_late", "_loop", "_plan", "_wakes", "clock",
        "machine",
    )  # fmt: skip

    def __init__(self, machine: Machine, plan: Plan) -> None:
        self.machine = machine
        self._plan = plan
        self._entered: float | None = None  # when the current state was entered
        self._deadlines: list[Deadline] | None = None  # None: all count from _entered
        self._late: dict[str, None] | None = None  # the timers that are due, in their order
        self._handle: asyncio.TimerHandle | None = None
        self._wakes = math.inf  # when the handle fires
        self._loop = running_loop()
        self.clock = clock_of(self._loop)

    @property
    @abstractmethod
    def closed(self) -> bool:
        """No trigger is taken any more."""

    @abstractmethod
    def ask(self, trigger: str, of: Any = None) -> Verdict:
        """What `post` would return now. Changes nothing."""

    @abstractmethod
    def fire(self, timer: str) -> Verdict:
        """Post a timer's trigger."""

    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop of the timers and tasks: the one of `start`, or else the first that runs."""
        if self._loop is None and (running := running_loop()) is not None:
            self._bind(running)
        return self._loop

    def _bind(self, loop: asyncio.AbstractEventLoop) -> float:
        """Continue in this loop. Returns by how much its clock is ahead of the previous loop's."""
        if loop is self._loop:
            return 0.0
        clock = clock_of(loop)
        moved = clock() - self.clock()
        self._loop, self.clock = loop, clock
        self._stop_waking()
        if self._entered is not None:
            self._entered += moved
        if self._deadlines is not None:
            self._deadlines = [(when + moved, name, said) for when, name, said in self._deadlines]
        return moved

    def _enter(self, state: str, now: float) -> None:
        """Stop the timers of the previous state, and start those of this one."""
        self._entered = now
        self._deadlines = self._late = None
        first, _ = self._plan[state]
        if now + first < self._wakes:
            self._wake_at(now + first)

    def _keep(self, verdict: Verdict, now: float) -> float:
        """Enter a state some of whose timers go on from the state before.

        Returns by how much the clock is ahead, if this call has found the loop.
        """
        before = self._deadlines
        if before is None:
            entered = self._entered or 0.0
            before = [(entered + s, name, None) for name, s in self._plan[verdict.state][1]]
        kept = {one[1]: one for one in before if one[1] in verdict.keeps}
        self._late = {name: None for name in self._late or () if name in kept} or None
        self._entered = now
        _, own = self._plan[verdict.dest]
        self._deadlines = [kept.get(name, (now + s, name, None)) for name, s in own]
        first = min(self._deadlines)[0] if self._deadlines else math.inf
        return self._wake_at(first) if first < self._wakes else 0.0

    def _arm(self) -> None:
        """Start the timers of the first state, or those that waited for a loop."""
        if self._entered is None:
            self._enter(self.machine.state, self.clock())
        elif self._handle is None and (deadlines := self._due()):
            self._wake_at(min(deadlines)[0])

    def _due(self) -> list[Deadline]:
        if not self._plan[self.machine.state][1]:
            return []  # for a state without timers this still has those of the previous state
        if self._deadlines is None:
            entered = self._entered or 0.0
            _, own = self._plan[self.machine.state]
            self._deadlines = [(entered + seconds, name, None) for name, seconds in own]
        return self._deadlines

    def _restart(self, timers: tuple[str, ...], now: float) -> float:
        """Restart some timers of the current state; the others keep running.

        Returns by how much the clock is ahead, if this call has found the loop.
        """
        deadlines = self._due()
        seconds = dict(self._plan[self.machine.state][1])
        for one in [one for one in deadlines if one[1] in timers]:
            deadlines.remove(one)
            deadlines.append((now + seconds[one[1]], one[1], None))
            if self._late:
                self._late.pop(one[1], None)
        first = min(deadlines)[0] if deadlines else math.inf
        return self._wake_at(first) if first < self._wakes else 0.0

    @property
    def has_due(self) -> bool:
        """The guard of a timer that is due did not hold."""
        return bool(self._late)

    def take_due(self) -> None:
        """Post every timer that is due and whose guard holds now. The pump calls this after every
        post; a host calls it when the answer of a host fact may have changed without one."""
        while self._late and not self.closed:
            timer = next(filter(self.ask, self._late), None)
            if timer is None:
                return
            self._restart((timer,), self.clock())  # first, so that nothing is due twice
            copy_context().run(self.fire, timer)

    def _stop_waking(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._wakes = None, math.inf

    def _wake_at(self, when: float) -> float:
        """Set the loop's timer.

        Returns by how much the clock is ahead, if this call has found the loop.
        """
        self._stop_waking()
        moved = 0.0
        if self._loop is None and (running := running_loop()) is not None:
            moved = self._bind(running)
        if self._loop is not None and not self._loop.is_closed():
            self._wakes = when + moved
            self._handle = self._loop.call_at(self._wakes, self._wake)
        return moved

    def _wake(self) -> None:
        self._handle, self._wakes = None, math.inf
        now = self.clock()
        deadlines = self._due()
        rows = self.machine.configuration.rows
        seconds = dict(self._plan[rows.state][1])
        declared = list(seconds)
        passed = [one for one in deadlines if one[0] <= now + _EPSILON]
        for one in sorted(passed, key=lambda one: (one[0], declared.index(one[1]))):
            if one not in deadlines:
                continue  # an earlier timer has restarted it
            deadlines.remove(one)
            _, name, said = one
            said = self._fire(name, said)
            left = self.machine.configuration.rows is not rows
            if left or self._deadlines is not deadlines or self.closed:
                return  # a state was entered: these deadlines belong to the previous state
            # Still the same state: the timer restarts. If its guard does not hold, it stays due:
            # the next trigger may change a fact, and the host may change its answer by then.
            deadlines.append((now + seconds[name], name, said))
            if not self.machine.configuration[name][1]:
                self._late = {**(self._late or {}), name: None}
            elif self._late:
                self._late.pop(name, None)
        if deadlines:
            self._wake_at(min(deadlines)[0])

    def _fire(self, timer: str, said: str | None) -> str | None:
        """Post a timer, unless its last verdict changed nothing and would be the same now.

        So the journal has only one entry for a timer that the same fact blocks repeatedly. Returns
        that verdict.
        """
        if said is not None:
            self.ask(timer)  # including the host facts
            if self._idle(timer) == said:
                return said
        idle = self._idle(timer)
        return idle if str(self.fire(timer)) == idle else None

    def _idle(self, timer: str) -> str | None:
        """The machine's verdict on a timer, if it changes nothing."""
        program, held = self.machine.program, self.machine.configuration
        after, verdict, _ = held[timer]
        scoped = timer in program.begins or timer in program.ends
        moves = after is not held or verdict.entered or verdict.actions
        if verdict and (moves or scoped):
            return None
        return str(verdict)
