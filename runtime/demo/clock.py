"""Real time that stops while the machine is too slow, so that load does not change the
conversation."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeAlias, TypeVar

from turnfsm.runtime.testing.clock import VirtualClock

__all__ = ["PatientLoop", "run"]

T = TypeVar("T")
_Events: TypeAlias = list[tuple[selectors.SelectorKey, int]]
_Select: TypeAlias = Callable[[float | None], _Events]

_SLACK = 0.1  # seconds that a late loop catches up; a larger delay is ignored
_WORK = 0.05  # seconds of conversation that pass while a model works; a slower one is waited for
_ROUND = 1e-9  # seconds that a round of callbacks counts for, so that even shorter sleeps end

_real = time.monotonic  # bound now: the module's attributes are replaced while a loop runs


class _Clock(VirtualClock):
    """Starts at the current date, and advances at the loop's speed."""

    __slots__ = ("_began",)

    def __init__(self) -> None:
        super().__init__()
        self._began = time.time()

    def time(self) -> float:
        return self._began + self.now

    def time_ns(self) -> int:
        return round(self.time() * 1e9)


class _PatientSelector(selectors.DefaultSelector):
    loop: PatientLoop

    def select(self, timeout: float | None = None) -> _Events:
        if timeout == 0:
            self.loop.clock.now += _ROUND
            return super().select(0)
        return self.loop._wait(super().select, timeout)


class PatientLoop(asyncio.SelectorEventLoop):
    """An event loop that is never late: its time stops while the machine cannot keep up.

    Its time is real time, except that it stands still while callbacks run or wait for a processor,
    and while work in a thread takes longer than `work` seconds. So a timer never fires before
    something that would have come first on an idle machine.
    """

    def __init__(self, clock: VirtualClock | None = None, *, work: float = _WORK) -> None:
        self.clock = clock or _Clock()
        self._due = _real()  # when an idle machine would have reached the clock's time
        self._work = work
        self._began: dict[asyncio.Future[Any], float] = {}  # of work in threads
        selector = _PatientSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.clock.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """As asyncio's. The clock advances for at most `work` seconds while the work is done."""
        future = super().run_in_executor(executor, func, *args)
        self._began[future] = self.clock.now
        future.add_done_callback(self._began.pop)
        return future

    def _wait(self, select: _Select, timeout: float | None) -> _Events:
        """Sleep until an event comes. The clock advances, but not past `timeout`."""
        patience = min(self._began.values(), default=0.0) + self._work - self.clock.now
        if self._began and patience < 1e-6:
            events = select(None)
            self._due = _real()
            return events
        limits = [timeout, patience if self._began else None]
        longest = min((limit for limit in limits if limit is not None), default=None)
        events = select(None if longest is None else max(0.0, self._due + longest - _real()))
        self._advance(longest, woken=bool(events))
        return events

    def _advance(self, longest: float | None, *, woken: bool) -> None:
        passed = max(0.0, _real() - self._due)
        if longest is not None:
            passed = min(passed, longest) if woken else longest
        self.clock.now += passed
        self._due = max(self._due + passed, _real() - _SLACK)


def run(main: Coroutine[Any, Any, T], *, speed: float = 1.0) -> T:
    """Run `main` on a `PatientLoop`, with the `time` module following it, and return its result.

    Args:
        speed: How much faster the conversation is. Its models get less time accordingly.
    """
    clock = _Clock()
    with (
        clock.patched(),
        asyncio.Runner(loop_factory=lambda: PatientLoop(clock, work=_WORK / speed)) as runner,
    ):
        return runner.run(main)
