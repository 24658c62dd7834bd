"""The event pump: decide, commit, then act.

A trigger is decided on the caller's stack and nothing is awaited between the guard and the new
state, so no other task can come between them. Effects run after the commit, in the order in which
they were chosen. What an effect posts is decided at once, on the committed state; its effects join
the queue (run to completion). Pinned by tests/runtime/test_pump.py.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from fsm import Machine, Refused, Taken, UnknownTrigger, Verdict

from .journal import Journal

__all__ = ["Effect", "Event", "EventPump", "Observer"]

logger = logging.getLogger("turnfsm")


@attrs.frozen
class Event:
    """What an effect is told about the transition that chose it.

    Attributes:
        seq: The entry's number in the journal.
        of: The step, turn or call that the trigger belongs to.
        data: What the caller said about it.
    """

    seq: int
    trigger: str
    of: Any
    verdict: Taken
    data: Mapping[str, Any]


Effect = Callable[[Event], Any]
"""Carries out an action. What it returns is run as a task, if it can be awaited."""

Observer = Callable[[int, Verdict], None]
"""Is told the entry's number and its verdict, before the effects run."""

_EPSILON = 1e-6  # seconds: a loop may wake a timer this much early


class EventPump:
    """Drives one machine: triggers in, effects out, timers and tasks owned.

    Args:
        machine: The machine; nobody else may step it.
        effects: Action to what carries it out.
        given: Given fact to what answers for it, asked at the moment of a decision.
        timers: Timer to its seconds.
        journal: Where every verdict is kept.
        loop: The loop of the timers and tasks; by default the one that runs at the first need.
    """

    __slots__ = (
        "_cause", "_closed", "_deadlines", "_effects", "_given", "_handle", "_loop", "_observers",
        "_queue", "_running", "_start", "_tasks", "_timers", "journal", "machine",
    )  # fmt: skip

    def __init__(
        self,
        machine: Machine,
        *,
        effects: Mapping[str, Effect],
        given: Mapping[str, Callable[[], bool]],
        timers: Mapping[str, float],
        journal: Journal,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.machine = machine
        self.journal = journal
        self._effects = effects
        self._given = given
        self._timers = timers
        self._loop = loop
        self._start = loop.time() if loop else None
        self._queue: deque[tuple[str, Event]] | None = None
        self._observers: tuple[Observer, ...] = ()
        self._tasks: dict[asyncio.Future[Any], str] | None = None
        self._deadlines: list[tuple[float, str]] = []
        self._handle: asyncio.TimerHandle | None = None
        self._running = False
        self._closed = False
        self._cause: int | None = None

    # -- triggers

    def post(self, trigger: str, of: Any = None, data: Mapping[str, Any] | None = None) -> Verdict:
        """Decide on a trigger now; if it is taken, commit, and start its effects.

        Args:
            of: The step, turn or call that it belongs to; needed where the flow fences it.
            data: Kept in the journal and handed to the effects.

        Raises:
            UnknownTrigger: The flow declares it nowhere.
        """
        machine = self.machine
        if self._closed:
            return self._refuse_closed(trigger)
        asked = machine.asks(trigger)
        if asked:
            self._ask_host(asked)
        verdict = machine.step(trigger, of)
        now = self._now()
        seq = self.journal.append(now, trigger, of, machine.facts, verdict, self._cause, data)
        if verdict.__class__ is Taken:
            self._commit(verdict, seq, of, data)  # type: ignore[arg-type]
        for observer in self._observers:
            observer(seq, verdict)
        if self._queue and not self._running:
            self._run_effects()
        return verdict

    def ask(self, trigger: str, of: Any = None) -> Verdict:
        """What `post` would answer now, without moving and without a journal entry."""
        if self._closed:
            return self._refuse_closed(trigger)
        if asked := self.machine.asks(trigger):
            self._ask_host(asked)
        return self.machine.ask(trigger, of)

    def post_threadsafe(
        self, trigger: str, of: Any = None, data: Mapping[str, Any] | None = None
    ) -> concurrent.futures.Future[Verdict]:
        """Post from another thread; the future holds the verdict."""
        answer: concurrent.futures.Future[Verdict] = concurrent.futures.Future()

        def deliver() -> None:
            try:
                answer.set_result(self.post(trigger, of, data))
            except BaseException as exc:
                answer.set_exception(exc)

        self._bind().call_soon_threadsafe(deliver)
        return answer

    def note(self, kind: str, **data: Any) -> None:
        """Keep something in the journal that is no trigger."""
        if not self._closed:
            self.journal.note(self._now(), kind, data)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Tell an observer of every verdict; gives what ends it."""
        self._observers = (*self._observers, observer)

        def end() -> None:
            self._observers = tuple(o for o in self._observers if o is not observer)

        return end

    @property
    def now(self) -> float:
        """Seconds since the pump's first need of a clock: the journal's ``t``."""
        return self._now()

    # -- life

    @property
    def closed(self) -> bool:
        """Nothing is taken any more."""
        return self._closed

    def close(self) -> None:
        """Refuse all that comes, stop the timers, cancel the tasks."""
        if self._closed:
            return
        self._closed = True
        self._deadlines = []
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        for task in self._tasks or ():
            task.cancel()
        self.journal.close()

    async def aclose(self) -> None:
        """Close, and wait for the cancelled tasks to end."""
        self.close()
        current = asyncio.current_task()
        pending = [task for task in self._tasks or () if task is not current]
        if pending:
            await asyncio.wait(pending)

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Bind to the running loop and arm the timers of the initial state."""
        self._loop = loop or asyncio.get_running_loop()
        self._arm()

    # -- inside

    def _bind(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def _now(self) -> float:
        now = self._loop.time() if self._loop is not None else time.monotonic()
        if self._start is None:
            self._start = now
        return now - self._start

    def _refuse_closed(self, trigger: str) -> Refused:
        machine = self.machine
        if trigger not in machine.program.known:
            raise UnknownTrigger(trigger, machine.program.flow.name, machine.program.known)
        why = "the runtime is closed; make a new one for a new session"
        return Refused(trigger, machine.state, "closed", why)

    def _ask_host(self, bits: int) -> None:
        machine = self.machine
        for name in machine.program.names(bits):
            bit = machine.program.bits[name]
            if self._given[name]():
                machine.facts |= bit
            else:
                machine.facts &= ~bit

    def _commit(self, taken: Taken, seq: int, of: Any, data: Mapping[str, Any] | None) -> None:
        if self._tasks:
            self._cancel_owned(taken)
        if taken.entered:
            self._arm()
        if taken.actions:
            event = Event(seq, taken.trigger, of, taken, data or {})
            queue = self._queue
            if queue is None:
                queue = self._queue = deque()
            for action in taken.actions:
                queue.append((action, event))

    def _run_effects(self) -> None:
        queue = self._queue
        self._running = True
        try:
            while queue:
                action, event = queue.popleft()
                self._cause = event.seq
                self._carry_out(action, event)
        finally:
            self._running = False
            self._cause = None

    def _carry_out(self, action: str, event: Event) -> None:
        try:
            result = self._effects[action](event)
        except Exception as exc:
            self._failed(action, event, exc)
            return
        if inspect.isawaitable(result):
            self._own(action, event, result)

    def _failed(self, action: str, event: Event, exc: BaseException) -> None:
        """An effect that raises becomes a note and, if the flow names one, a trigger."""
        logger.error("action %r raised after %s", action, event.trigger, exc_info=exc)
        error = f"{type(exc).__name__}: {exc}"
        self.note("effect_failed", action=action, error=error, cause=event.seq)
        body = self.machine.program.flow.actions.get(action)
        if body is not None and body.failed is not None:
            self.post(body.failed, event.of, {"action": action, "error": error})

    # -- tasks

    def _own(self, action: str, event: Event, awaitable: Any) -> None:
        task = asyncio.ensure_future(awaitable, loop=self._bind())
        body = self.machine.program.flow.actions.get(action)
        if self._tasks is None:
            self._tasks = {}
        self._tasks[task] = body.owner if body is not None else "session"
        task.add_done_callback(lambda done: self._ended(action, event, done))

    def _ended(self, action: str, event: Event, task: asyncio.Future[Any]) -> None:
        if self._tasks is not None:
            self._tasks.pop(task, None)
        if task.cancelled():
            return
        exc = task.exception()
        if exc is not None:
            self._failed(action, event, exc)
            return
        body = self.machine.program.flow.actions.get(action)
        if body is not None and body.done is not None:
            self.post(body.done, event.of, {"action": action})

    def _cancel_owned(self, taken: Taken) -> None:
        """Cancel the tasks of the state and the scopes that this transition ends."""
        program = self.machine.program
        over = {*program.begins.get(taken.trigger, ()), *program.ends.get(taken.trigger, ())}
        if taken.entered:
            over.add("state")
        for task, owner in tuple((self._tasks or {}).items()):
            if owner in over:
                task.cancel()

    # -- timers

    def _arm(self) -> None:
        """Start the timers of the state that was entered; those of the one that was left are gone.

        The loop's timer is left where it is if it fires no later than the first deadline: it then
        moves on. Cancelling and setting it anew at every transition costs eight times as much.
        """
        names = self.machine.timers
        if not names:
            self._deadlines = []
            return
        now = self._bind().time()
        self._deadlines = sorted((now + self._timers[name], name) for name in names)
        self._wake_at(self._deadlines[0][0])

    def _wake_at(self, when: float) -> None:
        if self._handle is not None:
            if self._handle.when() <= when:
                return
            self._handle.cancel()
        self._handle = self._bind().call_at(when, self._wake)

    def _wake(self) -> None:
        self._handle = None
        now = self._bind().time()
        while self._deadlines and self._deadlines[0][0] <= now + _EPSILON:
            due = self._deadlines.pop(0)
            held = self._deadlines
            verdict = self.post(due[1])
            if self._closed:
                return
            if self._deadlines is held and not (verdict and verdict.entered):
                # The state is still held: the timer starts anew, so that it fires once the fact
                # that held it back has changed.
                held.append((now + self._timers[due[1]], due[1]))
                held.sort()
        if self._deadlines:
            self._wake_at(self._deadlines[0][0])
