"""The event pump: decide, commit, then act.

A trigger is decided on the caller's stack and nothing is awaited between the guard and the new
state, so no other task can come between them. Effects run after the commit, in the order in which
they were chosen. What an effect posts is decided at once, on the committed state; its effects join
the queue (run to completion). Pinned by tests/runtime/test_pump.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from turnfsm.fsm import Machine, Refused, TurnfsmError, UnknownTrigger, Verdict
from turnfsm.fsm.program import ACTS, ARMS, SLOW_PATH

from .effects import CAUSE, Effects, Observer, said
from .event import Event
from .host_facts import answers_of
from .journal import LiveJournal
from .threads import from_thread
from .timers import Plan, StateTimers, plan_of

__all__ = ["Event", "EventPump", "Observer"]


class EventPump(StateTimers):
    """Drives one machine: triggers in, effects out, timers and tasks owned.

    Args:
        machine: The machine; nobody else may step it.
        host: Has a method for every action, which takes an `Event`, and one for every host fact,
            asked at the moment of a decision. What an action's method returns is run as a task,
            if it can be awaited.
        journal: Where every verdict is kept.
        plan: The timers of each state in seconds; by default the flow's.

    `TurnRuntime` makes the machine, the journal and the pump together.
    """

    __slots__ = ("_barred", "_effects", "_host", "journal")

    def __init__(
        self, machine: Machine, host: object, journal: LiveJournal, plan: Plan | None = None
    ) -> None:
        super().__init__(machine, plan_of(machine.program, {}) if plan is None else plan)
        self.journal = journal
        self._host = host
        self._effects = Effects(self, machine.program, host)
        self._barred: str | None = None  # "closed", or "asking" while the host answers
        journal.start = self.clock()

    # -- triggers

    def post(self, trigger: str, of: Any = None, data: Mapping[str, Any] | None = None) -> Verdict:
        """Decide on a trigger now; if it is taken, commit, and start its effects.

        Args:
            of: The step, turn or call that it belongs to; needed where the flow fences it.
            data: Kept in the journal and handed to the effects.

        Raises:
            UnknownTrigger: The flow declares it nowhere.
        """
        if self._barred is not None:
            return self._refuse(trigger)
        machine = self.machine
        after, verdict, to_do = machine.configuration[trigger]
        if to_do >= SLOW_PATH or of is not None:
            verdict = self._decide(trigger, of)
            if self._barred is not None:
                return verdict  # a host fact's method has closed the runtime
            after = machine.configuration
            to_do = ARMS * verdict.entered | ACTS * bool(verdict.actions)
        else:
            machine.configuration = after  # Machine.step in place (test_stateful)
        clock = self.clock  # what is in a slot is called faster from a local name
        now = clock()
        effects = self._effects
        cause = effects.cause if effects.tasks is None else effects.follow(verdict)
        if to_do & ARMS:
            # StateTimers._enter in place (test_timers): a call would cost as much as the step
            self._entered = now
            self._deadlines = None
            timers = self._plan.get(after.state)
            if timers is not None and now + timers[0] < self._wakes:
                now += self._wake_at(now + timers[0])
        # Committed. From here on foreign code may run, and post.
        journal = self.journal
        append = journal.append
        seq = journal.seq = journal.seq + 1
        raw = (seq, now, trigger, of, after, machine.tokens, verdict, cause, data)
        append(raw)
        if to_do & ACTS or effects.observers or effects.waiting:
            effects.add(raw, verdict)
        return verdict

    def ask(self, trigger: str, of: Any = None) -> Verdict:
        """What `post` would answer now, without moving and without a journal entry."""
        if self._barred is not None:
            return self._refuse(trigger)
        if asked := self.machine.asks(trigger):
            self._ask_host(asked)
        return self.machine.ask(trigger, of)

    def post_threadsafe(
        self, trigger: str, of: Any = None, data: Mapping[str, Any] | None = None
    ) -> Future[Verdict]:
        """Post from another thread; the future holds the verdict.

        It cannot be cancelled: what has happened is decided, whatever becomes of the caller.

        Raises:
            TurnfsmError: There is no loop yet.
        """
        post = partial(self.post, trigger, of, data)
        return from_thread(self._loop, post, partial(self._refusal, trigger))

    def note(self, kind: str, **data: Any) -> None:
        """Keep something in the journal that is no trigger."""
        if self._barred != "closed":
            self.journal.note(self.clock(), kind, data)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Tell an observer of every verdict, in their order; gives what ends it.

        One that raises is logged and stays.
        """
        return self._effects.observe(observer)

    @property
    def closed(self) -> bool:
        """Nothing is taken any more."""
        return self._barred == "closed"

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Bind to a loop, by default the running one, and arm the timers of the held state."""
        self._bind(loop or asyncio.get_running_loop())
        if not self.closed:
            self._arm()

    def close(self) -> None:
        """Refuse all that comes, drop the effects that wait, stop the timers, cancel the tasks."""
        if self.closed:
            return
        self._barred = "closed"
        self._stop_waking()
        self._effects.close()
        self.journal.close()

    async def aclose(self, max_wait: float = 5.0) -> None:
        """Close, and wait for the cancelled tasks to end, at most `max_wait` seconds."""
        self.close()
        if self._effects.tasks is not None:
            await self._effects.tasks.wait(max_wait)

    def fire(self, timer: str) -> Verdict:
        """Post a timer. Its cause is time, whatever task's context it was armed in."""
        CAUSE.set(None)
        return self.post(timer)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> float:
        moved = super()._bind(loop)
        self.journal.shift(moved)
        return moved

    def _refuse(self, trigger: str) -> Refused:
        if self._barred == "asking":
            raise TurnfsmError(
                f"a host fact's method posted or asked {trigger!r}; it may only answer, "
                "because the machine is deciding"
            )
        return self._refusal(trigger)

    def _refusal(self, trigger: str) -> Refused:
        program = self.machine.program
        if trigger not in program.known:
            raise UnknownTrigger(trigger, program.flow.name, program.known)
        why = "the runtime is closed; make a new one for a new session"
        return Refused(trigger, self.machine.state, "closed", why)

    def _decide(self, trigger: str, of: Any) -> Verdict:
        if asked := self.machine.asks(trigger):
            self._ask_host(asked)
            if self._barred is not None:
                return self._refuse(trigger)
        return self.machine.step(trigger, of)

    def _ask_host(self, facts: tuple[str, ...]) -> None:
        """Ask the host for host facts. One that raises keeps its value."""
        self._barred = "asking"
        answers, failed = answers_of(self._host, facts)
        if self._barred == "asking":
            self._barred = None
        self.machine.set_host_facts(answers)
        for name, error in failed:
            self.note("host_fact_failed", fact=name, error=said(error))
