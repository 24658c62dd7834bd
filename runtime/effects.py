"""Runs the effects of a verdict: observers are notified, then the host carries out the actions."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from inspect import isawaitable, iscoroutine
from typing import Any, NamedTuple

from turnfsm.fsm import Machine, Verdict

from .event import Event
from .journal import LiveJournal, Raw
from .tasks import OwnedTasks
from .timers import Plan, StateTimers

__all__ = ["CAUSE", "CURRENT", "Effects", "Observer", "said"]

logger = logging.getLogger("turnfsm")

Observer = Callable[[int, Verdict], None]
"""Called with the entry's number and its verdict, before the effects run."""

_new = tuple.__new__  # half the cost of calling the class


class _Cause(NamedTuple):
    """The entry whose asynchronous effect the current task is."""

    pump: Effects
    seq: int


CAUSE: ContextVar[_Cause | None] = ContextVar("turnfsm_cause", default=None)

CURRENT = object()
"""A value for ``of``: the current step, turn or call."""


class Effects(StateTimers):
    """The part of a pump that notifies observers and carries out actions.

    Effects run one at a time in the caller's stack, in the order in which they were chosen. A
    trigger that is posted in the meantime is decided and reported at once; its effects are queued.

    Attributes:
        journal: The journal of every verdict.
    """

    # _observers: called with every verdict, in the order of the verdicts
    # _cause: the entry whose effect runs now
    # _running: observers or actions of a verdict are running
    # _waiting: queued actions. Without _running: what a KeyboardInterrupt has stopped; it runs
    #   with the next post
    # _tasks: those of asynchronous effects; None until the first one
    __slots__ = (
        "_cause", "_closed", "_host", "_news", "_notifying", "_observer", "_observers", "_running",
        "_tasks", "_waiting", "journal",
    )  # fmt: skip

    def __init__(self, machine: Machine, plan: Plan, host: object, journal: LiveJournal) -> None:
        super().__init__(machine, plan)
        self.journal = journal
        self._host = host
        # An empty deque takes 0.75 kB, so both are created on first use.
        self._waiting: deque[tuple[Event, tuple[str, ...]]] | None = None
        self._news: deque[tuple[int, Verdict]] | None = None
        self._notifying = False
        self._observers: tuple[Observer, ...] = ()
        self._observer: Observer | None = None  # the only observer, or one that calls all
        self._cause: int | None = None
        self._running = False
        self._tasks: OwnedTasks | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """No trigger is taken any more."""
        return self._closed

    @abstractmethod
    def post(self, trigger: str, of: Any = None, /, **data: Any) -> Verdict:
        """Decide on a trigger now."""

    @abstractmethod
    def note(self, kind: str, **data: Any) -> None:
        """Add a note to the journal."""

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call an observer with every verdict.

        Args:
            observer: Gets the entry's number and the verdict. If it raises, that is logged.

        Returns:
            A function that removes the observer.
        """
        self._watch((*self._observers, observer))
        return lambda: self._watch(tuple(o for o in self._observers if o is not observer))

    def _watch(self, observers: tuple[Observer, ...]) -> None:
        self._observers = observers
        self._observer = self._tell_each if len(observers) > 1 else next(iter(observers), None)

    def _follow_up(self, raw: Raw, verdict: Verdict) -> None:
        """Report a verdict and carry out its actions: now, or after those that are running."""
        actions = verdict.actions
        seq, event = raw[0], _new(Event, raw)
        if self._running or self._waiting:
            if actions:
                self._in_line().append((event, actions))
            if self._running:
                if self._observer is not None:
                    self._notify_nested(seq, verdict)
                return
            actions = ()
        self._running = True
        try:
            if (observer := self._observer) is not None:
                self._notifying = True
                self._cause = seq
                try:
                    observer(seq, verdict)
                except Exception:  # the observer stays: the fault may be temporary
                    logger.exception("observer %r raised at entry %d", observer, seq)
                self._notifying = False
                if self._news:
                    self._notify(*self._news.popleft())
            if actions:
                todo, actions = actions, ()
                self._carry_out(event, todo)
            while self._waiting:
                self._carry_out(*self._waiting.popleft())
        except BaseException:  # a KeyboardInterrupt: the next post continues with the rest
            if actions:
                self._in_line().appendleft((event, actions))
            if self._news:
                self._news.clear()
            raise
        finally:
            self._running = self._notifying = False
            self._cause = None
        if self._late:
            self.take_due()

    def _in_line(self) -> deque[tuple[Event, tuple[str, ...]]]:
        if self._waiting is None:
            self._waiting = deque()
        return self._waiting

    def _cause_of(self, verdict: Verdict) -> int | None:
        """End the tasks that this verdict ends.

        Returns the cause of the post, also if a task posted it.
        """
        cause = self._cause
        if cause is None and (posting := CAUSE.get()) is not None and posting.pump is self:
            cause = posting.seq
        if self._tasks and verdict:
            program = self.machine.program
            begins, ends = program.begins, program.ends
            over = {*begins.get(verdict.trigger, ()), *ends.get(verdict.trigger, ())}
            self._tasks.end(over | {"state"} if verdict.entered else over)
        return cause

    def _drop_effects(self) -> None:
        """Drop queued effects, cancel the tasks."""
        self._closed = True
        if self._waiting:
            self._waiting.clear()
        if self._tasks is not None:
            self._tasks.end_all()

    def _notify_nested(self, seq: int, verdict: Verdict) -> None:
        """Report what an observer has posted, after all observers have seen the previous
        verdict."""
        if not self._notifying:
            before = self._cause
            try:
                self._notify(seq, verdict)
            finally:
                self._cause = before
            return
        if self._news is None:
            self._news = deque()
        self._news.append((seq, verdict))

    def _notify(self, seq: int, verdict: Verdict) -> None:
        self._notifying = True
        try:
            while True:
                self._cause = seq
                self._tell_each(seq, verdict)
                if not self._news:
                    break
                seq, verdict = self._news.popleft()
        finally:
            self._notifying = False
            if self._news:
                self._news.clear()

    def _tell_each(self, seq: int, verdict: Verdict) -> None:
        for observer in self._observers:
            try:
                observer(seq, verdict)
            except Exception:  # the observer stays: the fault may be temporary
                logger.exception("observer %r raised at entry %d", observer, seq)

    def _catch_up(self) -> None:
        """Report what an observer has posted, and carry out its actions."""
        self._notifying = False
        if self._news:
            self._notify(*self._news.popleft())
        while self._waiting:
            self._carry_out(*self._waiting.popleft())

    def _carry_out(self, event: Event, actions: tuple[str, ...]) -> None:
        host, todo = self._host, iter(actions)
        seq = event[0]
        try:
            for action in todo:
                self._cause = seq
                try:
                    result = getattr(host, action)(event)
                    if result is not None and isawaitable(result):
                        self._own(action, event, result)
                except (Exception, asyncio.CancelledError) as exc:
                    self._failed(action, event, exc)
                if self._closed:
                    return
        except BaseException:  # a KeyboardInterrupt: the next post continues with the rest
            self._in_line().appendleft((event, tuple(todo)))
            raise

    def _failed(self, action: str, event: Event, exc: BaseException) -> None:
        """Record that an effect raised. If the flow names a trigger for that, post it."""
        if isinstance(exc, asyncio.CancelledError):
            logger.warning("action %r was cancelled after %s", action, event.trigger)
        else:
            logger.error("action %r raised after %s", action, event.trigger, exc_info=exc)
        error = said(exc)
        self.note("effect_failed", action=action, error=error, cause=event.seq)
        body = self.machine.program.flow.actions.get(action)
        if body is not None and body.failed is not None:
            self.post(body.failed, _of(event), action=action, error=error)

    # -- tasks

    def _own(self, action: str, event: Event, awaitable: Any) -> None:
        loop = self.loop()
        if self._closed or loop is None:
            if iscoroutine(awaitable):
                awaitable.close()
            if not self._closed:
                raise RuntimeError("no loop runs; start() the runtime in one")
            return
        if self._tasks is None:
            self._tasks = OwnedTasks()
        body = self.machine.program.flow.actions.get(action)
        owner = body.owner if body is not None else "session"
        context = copy_context()
        context.run(CAUSE.set, _Cause(self, event.seq))
        self._tasks.own(awaitable, owner, loop, context, lambda e: self._ended(action, event, e))

    def _ended(self, action: str, event: Event, exc: BaseException | None) -> None:
        """A task has ended before its owner: post the flow's trigger for that, if any."""
        before, self._cause = self._cause, event.seq
        try:
            if exc is not None:
                self._failed(action, event, exc)
                return
            body = self.machine.program.flow.actions.get(action)
            if body is not None and body.done is not None:
                self.post(body.done, _of(event), action=action)
        finally:
            self._cause = before


def _of(event: Event) -> Any:
    return CURRENT if event.of is None else event.of


def said(exc: BaseException) -> str:
    """An exception as text for the journal."""
    return f"{type(exc).__name__}: {exc}"
