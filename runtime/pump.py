"""The event pump: decide, commit, then act.

A trigger is decided on the caller's stack and nothing is awaited between the guard and the new
state, so no other task can come between them. Effects run after the commit, in the order in which
they were chosen. What an effect posts is decided at once, on the committed state; its effects join
the queue (run to completion). Pinned by tests/runtime/test_pump.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from functools import partial
from inspect import isawaitable, iscoroutine
from typing import Any

from turnfsm.fsm import Machine, Refused, TurnfsmError, UnknownTrigger, Verdict
from turnfsm.fsm.program import ACTS, ARMS, SLOW_PATH

from .event import Event
from .given import answers_of
from .journal import LiveJournal, Raw
from .observers import Observer, Observers
from .tasks import OwnedTasks
from .threads import from_thread
from .timers import Plan, StateTimers, plan_of

__all__ = ["Event", "EventPump", "Observer"]

logger = logging.getLogger("turnfsm")

_new = tuple.__new__  # half the price of calling the class

# The pump and the entry whose asynchronous effect the running task is.
_CAUSE: ContextVar[tuple[EventPump, int] | None] = ContextVar("turnfsm_cause", default=None)


class EventPump(StateTimers):
    """Drives one machine: triggers in, effects out, timers and tasks owned.

    Args:
        machine: The machine; nobody else may step it.
        host: Has a method for every action, which takes an `Event`, and one for every given fact,
            asked at the moment of a decision. What an action's method returns is run as a task,
            if it can be awaited.
        journal: Where every verdict is kept.
        plan: The timers of each state; by default the flow's.
    """

    __slots__ = (
        "_barred", "_cause", "_host", "_observers", "_queue", "_running", "_tasks",
        "_watched", "journal",
    )  # fmt: skip

    def __init__(
        self, machine: Machine, host: object, journal: LiveJournal, plan: Plan | None = None
    ) -> None:
        super().__init__(machine, plan_of(machine.program, {}) if plan is None else plan)
        self.journal = journal
        self._host = host
        self._tasks: OwnedTasks | None = None
        self._queue: deque[tuple[str, Event]] | None = None
        self._observers: Observers | None = None
        self._watched = False  # there are, or were, tasks, observers or effects left behind
        self._running = False
        self._barred: str | None = None  # "closed", or "asking" while the host answers
        self._cause: int | None = None
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
                return verdict  # a given fact's method has closed the runtime
            after = machine.configuration
            to_do = ARMS * verdict.entered | ACTS * bool(verdict.actions)
        else:
            machine.configuration = after  # Machine.step in place (test_stateful)
        clock = self.clock  # what is in a slot is called faster from a local name
        now = clock()
        cause = self._follow(verdict) if self._watched else self._cause
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
        if self._running or self._watched:
            self._queue_and_tell(raw, verdict)
        elif to_do & ACTS:
            self._run(raw, verdict.actions)
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
        if self._observers is None:
            self._observers = Observers()
            self._watched = True
        return self._observers.add(observer)

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
        if self._queue:
            self._queue.clear()
        if self._tasks is not None:
            self._tasks.end_all()
        self.journal.close()

    async def aclose(self, patience: float = 5.0) -> None:
        """Close, and wait for the cancelled tasks to end, at most `patience` seconds."""
        self.close()
        if self._tasks is not None:
            await self._tasks.wait(patience)

    def fire(self, timer: str) -> Verdict:
        """Post a timer. Its cause is time, whatever task's context it was armed in."""
        _CAUSE.set(None)
        return self.post(timer)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> float:
        moved = super()._bind(loop)
        self.journal.shift(moved)
        return moved

    def _refuse(self, trigger: str) -> Refused:
        if self._barred == "asking":
            raise TurnfsmError(
                f"a given fact's method posted or asked {trigger!r}; it may only answer, "
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
        """Ask the host for given facts. One that raises keeps its value."""
        self._barred = "asking"
        answers, failed = answers_of(self._host, facts)
        if self._barred == "asking":
            self._barred = None
        self.machine.give(answers)
        for name, error in failed:
            self.note("given_failed", fact=name, error=_said(error))

    # -- effects

    def _run(self, raw: Raw, actions: tuple[str, ...]) -> None:
        """Carry out what was chosen, then what was chosen meanwhile."""
        self._running = True
        self._cause = raw[0]
        event, host = _new(Event, raw), self._host
        todo = iter(actions)
        try:
            for action in todo:
                # _carry_out in place
                try:
                    result = getattr(host, action)(event)
                    if result is not None and isawaitable(result):
                        self._own(action, event, result)
                except (Exception, asyncio.CancelledError) as exc:
                    self._failed(action, event, exc)
                if self._barred is not None:
                    return  # an effect has closed the runtime
            if self._queue:
                self._drain()
        except BaseException:  # a KeyboardInterrupt: the next post goes on with what is left
            self._queue = deque((*((action, event) for action in todo), *(self._queue or ())))
            self._watched = True
            raise
        finally:
            self._running = False
            self._cause = None

    def _queue_and_tell(self, raw: Raw, verdict: Verdict) -> None:
        """The way of a post from an effect, and of one that is observed: effects wait in line."""
        if verdict.actions:
            event = Event(raw)
            if self._queue is None:
                self._queue = deque()
            self._queue.extend([(action, event) for action in verdict.actions])
        outermost, self._running = not self._running, True
        try:
            if self._observers is not None:
                self._observers.tell(raw[0], verdict)
            if outermost:
                self._drain()
        finally:
            if outermost:
                self._running = False
                self._cause = None

    def _drain(self) -> None:
        while self._queue:
            self._carry_out(*self._queue.popleft())

    def _carry_out(self, action: str, event: Event) -> None:
        if self._barred is not None:
            return  # an effect before this one closed the runtime
        self._cause = event.seq
        try:
            result = getattr(self._host, action)(event)
            if result is not None and isawaitable(result):
                self._own(action, event, result)
        except (Exception, asyncio.CancelledError) as exc:
            self._failed(action, event, exc)

    def _failed(self, action: str, event: Event, exc: BaseException) -> None:
        """An effect that raises becomes a note and, if the flow names one, a trigger."""
        if isinstance(exc, asyncio.CancelledError):
            logger.warning("action %r was cancelled after %s", action, event.trigger)
        else:
            logger.error("action %r raised after %s", action, event.trigger, exc_info=exc)
        error = _said(exc)
        self.note("effect_failed", action=action, error=error, cause=event.seq)
        body = self.machine.program.flow.actions.get(action)
        if body is not None and body.failed is not None:
            self.post(body.failed, event.of, {"action": action, "error": error})

    # -- tasks

    def _own(self, action: str, event: Event, awaitable: Any) -> None:
        loop = self.loop()
        if self.closed or loop is None:
            if iscoroutine(awaitable):
                awaitable.close()
            if not self.closed:
                raise RuntimeError("no loop runs; start() the runtime in one")
            return
        if self._tasks is None:
            self._tasks = OwnedTasks()
            self._watched = True
        body = self.machine.program.flow.actions.get(action)
        owner = body.owner if body is not None else "session"
        context = copy_context()
        context.run(_CAUSE.set, (self, event.seq))
        self._tasks.own(awaitable, owner, loop, context, lambda e: self._ended(action, event, e))

    def _ended(self, action: str, event: Event, exc: BaseException | None) -> None:
        """A task has ended while its owner stood: that is a trigger, if the flow names one."""
        before, self._cause = self._cause, event.seq
        try:
            if exc is not None:
                self._failed(action, event, exc)
                return
            body = self.machine.program.flow.actions.get(action)
            if body is not None and body.done is not None:
                self.post(body.done, event.of, {"action": action})
        finally:
            self._cause = before

    def _follow(self, verdict: Verdict) -> int | None:
        """End the tasks of what this verdict ends; gives the cause, also where an observer or a
        task has posted."""
        cause = self._cause
        if self._observers is not None and self._observers.telling is not None:
            cause = self._observers.telling
        if cause is None and (posting := _CAUSE.get()) is not None and posting[0] is self:
            cause = posting[1]
        if self._tasks and verdict:
            begins, ends = self.machine.program.begins, self.machine.program.ends
            over = {*begins.get(verdict.trigger, ()), *ends.get(verdict.trigger, ())}
            self._tasks.end(over | {"state"} if verdict.entered else over)
        return cause


def _said(exc: BaseException) -> str:
    return f"{type(exc).__name__}: {exc}"
