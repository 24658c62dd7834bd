"""What follows from a verdict: observers are told, then the host carries out what was chosen."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from inspect import isawaitable, iscoroutine
from typing import Any, NamedTuple, Protocol

from turnfsm.fsm import Program, Verdict

from .event import Event
from .journal import Raw
from .tasks import OwnedTasks

__all__ = ["CAUSE", "Effects", "Observer", "said"]

logger = logging.getLogger("turnfsm")

Observer = Callable[[int, Verdict], None]
"""Is told the entry's number and its verdict, before the effects run."""

_new = tuple.__new__  # half the price of calling the class


class _Cause(NamedTuple):
    """The entry whose asynchronous effect the running task is."""

    effects: Effects
    seq: int


CAUSE: ContextVar[_Cause | None] = ContextVar("turnfsm_cause", default=None)


class Pump(Protocol):
    """What effects need of the pump that decides."""

    def post(
        self, trigger: str, of: Any = None, data: Mapping[str, Any] | None = None
    ) -> Verdict: ...
    def note(self, kind: str, **data: Any) -> None: ...
    def loop(self) -> asyncio.AbstractEventLoop | None: ...


class Effects:
    """Run in the order in which they were chosen, one at a time, on the caller's stack.

    What is posted meanwhile is decided and told at once; its effects wait in line.

    Attributes:
        observers: Told of every verdict, in the order of the verdicts.
        cause: The entry on whose behalf code runs now.
        running: A verdict is being told or carried out.
        waiting: What is to be carried out; without `running`, what a KeyboardInterrupt has stopped:
            it runs with the next post.
        tasks: Those of asynchronous effects; None as long as there was none.
    """

    __slots__ = (
        "_host", "_news", "_program", "_pump", "_telling", "cause", "closed",
        "observers", "running", "tasks", "waiting",
    )  # fmt: skip

    def __init__(self, pump: Pump, program: Program, host: object) -> None:
        self._pump = pump
        self._program = program
        self._host = host
        # An empty deque is 0.75 kB: both are made when they are needed.
        self.waiting: deque[tuple[Event, tuple[str, ...]]] | None = None
        self._news: deque[tuple[int, Verdict]] | None = None
        self._telling = False
        self.observers: tuple[Observer, ...] = ()
        self.cause: int | None = None
        self.running = False
        self.closed = False
        self.tasks: OwnedTasks | None = None

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Tell this one, too; gives what ends it."""
        self.observers = (*self.observers, observer)

        def end() -> None:
            self.observers = tuple(o for o in self.observers if o is not observer)

        return end

    def add(self, raw: Raw, verdict: Verdict) -> None:
        """Tell a verdict, and carry it out: now, or behind what is being carried out."""
        if verdict.actions:
            if self.waiting is None:
                self.waiting = deque()
            self.waiting.append((_new(Event, raw), verdict.actions))
        if self.running:
            if self.observers:
                self._tell(raw[0], verdict)
            return
        self.running = True
        try:
            if self.observers:
                self._tell(raw[0], verdict)
            while self.waiting:
                self._carry_out(*self.waiting.popleft())
        finally:
            self.running = False
            self.cause = None

    def follow(self, verdict: Verdict) -> int | None:
        """End the tasks of what this verdict ends; gives the cause of the post, also if it comes
        from a task."""
        cause = self.cause
        if cause is None and (posting := CAUSE.get()) is not None and posting.effects is self:
            cause = posting.seq
        if self.tasks and verdict:
            begins, ends = self._program.begins, self._program.ends
            over = {*begins.get(verdict.trigger, ()), *ends.get(verdict.trigger, ())}
            self.tasks.end(over | {"state"} if verdict.entered else over)
        return cause

    def close(self) -> None:
        """Drop what waits, cancel the tasks."""
        self.closed = True
        if self.waiting:
            self.waiting.clear()
        if self.tasks is not None:
            self.tasks.end_all()

    def _tell(self, seq: int, verdict: Verdict) -> None:
        """What an observer posts is told when all have heard what it was told of."""
        if self._telling:
            if self._news is None:
                self._news = deque()
            self._news.append((seq, verdict))
            return
        before, self._telling = self.cause, True
        try:
            while True:
                self.cause = seq
                for observer in self.observers:
                    try:
                        observer(seq, verdict)
                    except Exception:  # it stays: the fault may be a passing one
                        logger.exception("observer %r raised at entry %d", observer, seq)
                if not self._news:
                    break
                seq, verdict = self._news.popleft()
        finally:
            self._telling = False
            self.cause = before
            if self._news:
                self._news.clear()

    def _carry_out(self, event: Event, actions: tuple[str, ...]) -> None:
        host, todo = self._host, iter(actions)
        try:
            for action in todo:
                self.cause = event.seq
                try:
                    result = getattr(host, action)(event)
                    if result is not None and isawaitable(result):
                        self._own(action, event, result)
                except (Exception, asyncio.CancelledError) as exc:
                    self._failed(action, event, exc)
                if self.closed:
                    return
        except BaseException:  # a KeyboardInterrupt: the next post goes on with what is left
            assert self.waiting is not None
            self.waiting.appendleft((event, tuple(todo)))
            raise

    def _failed(self, action: str, event: Event, exc: BaseException) -> None:
        """An effect that raises becomes a note and, if the flow names one, a trigger."""
        if isinstance(exc, asyncio.CancelledError):
            logger.warning("action %r was cancelled after %s", action, event.trigger)
        else:
            logger.error("action %r raised after %s", action, event.trigger, exc_info=exc)
        error = said(exc)
        self._pump.note("effect_failed", action=action, error=error, cause=event.seq)
        body = self._program.flow.actions.get(action)
        if body is not None and body.failed is not None:
            self._pump.post(body.failed, event.of, {"action": action, "error": error})

    # -- tasks

    def _own(self, action: str, event: Event, awaitable: Any) -> None:
        loop = self._pump.loop()
        if self.closed or loop is None:
            if iscoroutine(awaitable):
                awaitable.close()
            if not self.closed:
                raise RuntimeError("no loop runs; start() the runtime in one")
            return
        if self.tasks is None:
            self.tasks = OwnedTasks()
        body = self._program.flow.actions.get(action)
        owner = body.owner if body is not None else "session"
        context = copy_context()
        context.run(CAUSE.set, _Cause(self, event.seq))
        self.tasks.own(awaitable, owner, loop, context, lambda e: self._ended(action, event, e))

    def _ended(self, action: str, event: Event, exc: BaseException | None) -> None:
        """A task has ended while its owner stood: that is a trigger, if the flow names one."""
        before, self.cause = self.cause, event.seq
        try:
            if exc is not None:
                self._failed(action, event, exc)
                return
            body = self._program.flow.actions.get(action)
            if body is not None and body.done is not None:
                self._pump.post(body.done, event.of, {"action": action})
        finally:
            self.cause = before


def said(exc: BaseException) -> str:
    """An exception as the journal has it."""
    return f"{type(exc).__name__}: {exc}"
