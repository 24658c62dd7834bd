"""The event pump: decide, commit, then act.

A trigger is decided in the caller's stack. Nothing is awaited between the guard and the new state,
so no other task can run in between. Effects run after the commit, in the order in which they were
chosen. A trigger that an effect posts is decided at once, on the committed state; its effects join
the queue (run to completion). tests/runtime/test_pump.py tests all this.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from typing import Any

from turnfsm.fsm import Machine, Refused, TurnfsmError, UnknownTrigger, Verdict
from turnfsm.fsm.program import ACTS, ARMS, KEEPS, RESTARTS, SLOW_PATH

from .effects import CAUSE, CURRENT, Effects, Observer, said
from .event import Event
from .journal import LiveJournal
from .timers import Plan, plan_of

__all__ = ["Event", "EventPump", "Observer"]

logger = logging.getLogger("turnfsm")


class EventPump(Effects):
    """Drives one machine: takes triggers, runs effects, owns timers and tasks.

    `TurnRuntime` makes the machine, the journal and the pump together.

    Args:
        machine: The machine. Only the pump may step it.
        host: Has a method for each action and for each host fact. An action's method takes an
            `Event`; if it returns an awaitable, that runs as a task. A host fact's method takes
            nothing, and returns True or False at once.
        journal: The journal of every verdict.
        plan: The timers of each state, in seconds; by default those of the flow.

    Example:
        >>> from turnfsm import EventPump, LiveJournal, Machine, compile_flow, parse_flow
        >>> flow, _ = parse_flow('''
        ... flow: door
        ... initial: shut
        ... requests: {open: May it be opened?}
        ... states:
        ...   shut: {on: {open: {dest: wide}}}
        ...   wide: {}
        ... ''')
        >>> program = compile_flow(flow)
        >>> pump = EventPump(Machine(program), object(), LiveJournal(program))
        >>> pump.post("open").dest
        'wide'
    """

    __slots__ = ("_barred",)

    def __init__(
        self, machine: Machine, host: object, journal: LiveJournal, plan: Plan | None = None
    ) -> None:
        plan = plan_of(machine.program, {}) if plan is None else plan
        super().__init__(machine, plan, host, journal)
        self._barred: str | None = None  # "closed", or "asking" while the host answers
        journal.start = self.clock()

    # -- triggers

    def post(self, trigger: str, of: Any = None, /, **data: Any) -> Verdict:
        """Decide on a trigger now. If it is taken, the state changes and its effects run.

        Args:
            trigger: The name of a request or event.
            of: The step, turn or call that it belongs to; required if the flow says ``of``.
            data: Kept in the journal and passed to the effects.

        Returns:
            `Taken` (true in a condition) or `Refused` (false).

        Raises:
            UnknownTrigger: The flow does not declare the trigger.
            TurnfsmError: The trigger belongs to a scope, and ``of`` is missing.
        """
        if self._barred is not None:
            return self._refuse(trigger)
        machine = self.machine
        after, verdict, to_do = machine.configuration[trigger]
        if to_do >= SLOW_PATH or of is not None:
            of = self._named(trigger, of)
            verdict = self._decide(trigger, of)
            if self._barred is not None:
                return verdict  # a host fact's method has closed the runtime
            after = machine.configuration
            to_do = KEEPS if verdict.keeps else ARMS * verdict.entered
            to_do |= ACTS * bool(verdict.actions) | RESTARTS * bool(verdict.restarts)
        else:
            machine.configuration = after  # `Machine.step`, inlined (test_stateful)
        clock = self.clock  # a call through a local name is faster than through a slot
        now = clock()
        cause = self._cause if self._tasks is None else self._cause_of(verdict)
        if to_do & ARMS:
            # StateTimers._enter, inlined (test_timers): a call would cost as much as the step
            self._entered = now
            self._deadlines = self._late = None
            timers = self._plan[after.state]
            if now + timers[0] < self._wakes:
                now += self._wake_at(now + timers[0])
        elif to_do & RESTARTS:
            now += self._restart(verdict.restarts, now)
        elif to_do & KEEPS:
            now += self._keep(verdict, now)
        # Committed. From here on other code may run, and post.
        journal = self.journal
        append = journal.append
        seq = journal.seq = journal.seq + 1
        raw = (seq, now, trigger, of, after, machine.tokens, verdict, cause, data or None)
        append(raw)
        if to_do & ACTS or self._running or self._waiting or self._late:
            self._follow_up(raw, verdict)
            return verdict
        observer = self._observer
        if observer is not None:
            # Effects._follow_up, inlined (test_observers): there are no actions
            self._running = self._notifying = True
            self._cause = seq
            try:
                try:
                    observer(seq, verdict)
                except Exception:  # the observer stays: the fault may be temporary
                    logger.exception("observer %r raised at entry %d", observer, seq)
                if self._news or self._waiting:
                    self._catch_up()
            except BaseException:  # a KeyboardInterrupt
                if self._news:
                    self._news.clear()
                raise
            finally:
                self._running = self._notifying = False
                self._cause = None
        return verdict

    def ask(self, trigger: str, of: Any = None) -> Verdict:
        """What `post` would return now. Changes nothing, and writes no journal entry."""
        if self._barred is not None:
            return self._refuse(trigger)
        if asked := self.machine.asks(trigger):
            self._ask_host(asked)
        return self.machine.ask(trigger, of)

    def post_threadsafe(self, trigger: str, of: Any = None, /, **data: Any) -> Future[Verdict]:
        """Post from another thread.

        Returns:
            A future of the verdict. It cannot be cancelled: an event has happened, even if the
            caller goes away.

        Raises:
            TurnfsmError: The pump has no loop yet, or the trigger belongs to a scope and ``of`` is
                missing.
        """
        self._named(trigger, of)
        if self._loop is None:
            raise TurnfsmError("the runtime has no loop yet; start() it before other threads post")
        answer: Future[Verdict] = Future()
        answer.set_running_or_notify_cancel()

        def deliver() -> None:
            try:
                answer.set_result(self.post(trigger, of, **data))
            except Exception as exc:
                answer.set_exception(exc)

        try:
            self._loop.call_soon_threadsafe(deliver)
        except RuntimeError:  # the loop is closed, so nothing will run there any more
            answer.set_result(self._refusal(trigger))
        return answer

    def note(self, kind: str, **data: Any) -> None:
        """Add a note to the journal.

        Args:
            kind: Its kind.
            data: Its fields.
        """
        if self._barred != "closed":
            self.journal.note(self.clock(), kind, data)

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Bind to an event loop, and start the timers of the current state.

        Args:
            loop: By default the running one.
        """
        self._bind(loop or asyncio.get_running_loop())
        if not self.closed:
            self._arm()

    def close(self) -> None:
        """Refuse all further triggers, drop waiting effects, stop the timers, cancel the tasks."""
        if self.closed:
            return
        self._barred = "closed"
        self._stop_waking()
        self._drop_effects()
        self.journal.close()

    async def aclose(self, max_wait: float = 5.0) -> None:
        """Close, and wait until the cancelled tasks have ended.

        Args:
            max_wait: Seconds to wait at most.
        """
        self.close()
        if self._tasks is not None:
            await self._tasks.wait(max_wait)

    def fire(self, timer: str) -> Verdict:
        """Post a timer in its own context, not in that of the task that started it."""
        CAUSE.set(None)
        return self.post(timer)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> float:
        moved = super()._bind(loop)
        self.journal.shift(moved)
        return moved

    def _named(self, trigger: str, of: Any) -> Any:
        if of is None and (scope := self.machine.program.fences.get(trigger)) is not None:
            raise TurnfsmError(
                f"trigger {trigger!r} belongs to a {scope}; say which: post({trigger!r}, id)"
            )
        return None if of is CURRENT else of

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
        """Ask the host for host facts. If a method raises, the last value is used."""
        self._barred = "asking"
        answers: dict[str, bool] = {}
        failed: dict[str, str] = {}
        for name in facts:
            try:
                answers[name] = bool(getattr(self._host, name)())
            except Exception as exc:
                logger.error("host fact %r raised; its last value is used", name, exc_info=exc)
                failed[name] = said(exc)
        if self._barred == "asking":
            self._barred = None
        self.machine.set_host_facts(answers)
        for name, error in failed.items():
            self.note("host_fact_failed", fact=name, error=error)
