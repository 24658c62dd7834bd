"""Virtual time: an asyncio event loop that jumps to the next deadline when nothing is ready."""

from __future__ import annotations

import asyncio
import heapq
import logging
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar

from .wallclock import bind_wall_clock

__all__ = [
    "DeadlockError",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTimeError",
    "VirtualTimeLimit",
    "run",
]

T = TypeVar("T")
_Events = list[tuple[selectors.SelectorKey, int]]

logger = logging.getLogger("turnfsm")

EPOCH = 1_700_000_000.0
"""What `time.time()` reads at virtual second 0: a fixed day, so that traces are reproducible."""


class VirtualTimeError(RuntimeError):
    """The program cannot continue in virtual time."""


class DeadlockError(VirtualTimeError):
    """No callback is ready, no timer is set and no thread works: the program would hang forever."""


class VirtualTimeLimit(VirtualTimeError):
    """Virtual time has passed its limit, or the loop spins while no time passes."""


class VirtualClock:
    """The clock of a virtual loop. `patched()` makes the `time` module read it.

    Args:
        start: Its first reading, in seconds.

    Example:
        >>> from turnfsm.testing import VirtualClock
        >>> VirtualClock(start=5.0).monotonic()
        5.0
    """

    __slots__ = ("_ticks", "now")

    def __init__(self, start: float = 0.0) -> None:
        self.now = start
        self._ticks = 0

    def time(self) -> float:
        """Wall-clock time: `EPOCH` plus the virtual seconds."""
        return EPOCH + self.now

    def time_ns(self) -> int:
        return int(EPOCH) * 10**9 + round(self.now * 1e9)

    def monotonic(self) -> float:
        return self.now

    def monotonic_ns(self) -> int:
        return round(self.now * 1e9)

    def perf_counter_ns(self) -> int:
        """Strictly increasing, by one nanosecond per call: callers use it to break ties."""
        self._ticks += 1
        return round(self.now * 1e9) + self._ticks

    @contextmanager
    def patched(self) -> Iterator[VirtualClock]:
        """Make `time.time`, `monotonic` and `perf_counter` (and their `_ns`) read this clock.

        They do so in the whole process, until the end of the block. Code that imported the
        functions before (`from time import time`), `datetime.now()`, and timeouts of `threading`
        keep real time.
        """
        virtual = {
            "time": self.time,
            "time_ns": self.time_ns,
            "monotonic": self.monotonic,
            "monotonic_ns": self.monotonic_ns,
            "perf_counter": self.monotonic,
            "perf_counter_ns": self.perf_counter_ns,
        }
        real = {name: getattr(time, name) for name in virtual}
        bind_wall_clock()
        try:
            for name, function in virtual.items():
                setattr(time, name, function)
            yield self
        finally:
            for name, function in real.items():
                setattr(time, name, function)


class _FifoTimer(asyncio.TimerHandle):
    """A timer that fires in creation order among equal deadlines."""

    __slots__ = ("place",)
    place: tuple[float, float]

    def __lt__(self, other: object) -> bool:
        return self.place < other.place if isinstance(other, _FifoTimer) else NotImplemented


class _SerialTask(asyncio.Task[T]):
    """A task that hashes by its age, so that a set of tasks has the same order in every run."""

    def __init__(self, coro: Coroutine[Any, Any, T], serial: int, **options: Any) -> None:
        self._serial = serial  # before asyncio puts the task into a set
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._serial


class _JumpingSelector(selectors.DefaultSelector):
    """Returns from `select` immediately, after advancing the clock by the time that the loop would
    sleep."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> _Events:
        if timeout == 0 and len(self.get_map()) == 1:
            # Only a thread may wake the loop, and its callback is in the loop's queue.
            self.loop._spin(False)
            return []
        events = super().select(0)
        if events or timeout == 0:
            self.loop._spin(bool(events))
            return events
        if self.loop._threads_at_work:
            return self.loop._await_threads(super().select)
        self.loop._jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, for tests: waiting a minute takes no time.

    Time stands still while a callback is ready, and jumps to the next deadline if none is. While
    work of `run_in_executor` or a `real_work()` block is running, the loop waits for it in real
    time. Timers with equal deadlines fire in the order in which they were set. Sockets are polled
    but never waited for: wrap such waits in `real_work()`.

    Args:
        clock: The clock; by default a new one.
        limit: The maximum length of a run, in virtual seconds.
        spins: The maximum number of loop iterations without time passing.
        thread_timeout: The maximum length of work in a thread, in real seconds.

    Raises:
        DeadlockError: A real loop would hang forever.
        VirtualTimeLimit: `limit` or `spins` was exceeded.

    Example:
        >>> import asyncio
        >>> from turnfsm.testing import VirtualLoop
        >>> loop = VirtualLoop()
        >>> loop.run_until_complete(asyncio.sleep(60.0))
        >>> loop.time()
        60.0
        >>> loop.close()
    """

    def __init__(
        self,
        clock: VirtualClock | None = None,
        *,
        limit: float = 3600.0,
        spins: int = 200_000,
        thread_timeout: float = 30.0,
    ) -> None:
        self.clock = clock or VirtualClock()
        self._limit, self._max_spins, self._thread_timeout = limit, spins, thread_timeout
        self._threads_at_work = 0
        self._spins = 0
        self._serial = 0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], **options: Any
    ) -> asyncio.Task[T]:
        """As asyncio's. The task hashes by age; a task factory is used if one is set."""
        if self.get_task_factory() is not None:
            return super().create_task(coro, **options)
        self._check_closed()  # type: ignore[attr-defined]
        self._serial += 1
        return _SerialTask(coro, self._serial, loop=self, **options)

    def time(self) -> float:
        return self.clock.now

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's. Timers with equal deadlines fire in the order in which they were set."""
        self._check_closed()  # type: ignore[attr-defined]
        timer = _FifoTimer(when, callback, args, self, context)
        timer.place = (when, self._rank())
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    @property
    def timers(self) -> tuple[asyncio.TimerHandle, ...]:
        """The pending timers."""
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        return tuple(timer for timer in scheduled if not timer.cancelled())

    def _rank(self) -> float:
        """The rank of a new timer among those with the same deadline."""
        self._serial += 1
        return self._serial

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """As asyncio's. Virtual time stands still until the work is done."""
        future = super().run_in_executor(executor, func, *args)
        self._threads_at_work += 1
        future.add_done_callback(self._thread_done)
        return future

    async def shutdown_default_executor(self, *timeout: Any) -> None:
        """As asyncio's; joining the threads takes real time, not virtual time."""
        with self.real_work():
            await super().shutdown_default_executor(*timeout)

    @contextmanager
    def real_work(self) -> Iterator[None]:
        """Declare that a thread or a socket will wake the loop. Virtual time stands still until
        then."""
        self._threads_at_work += 1
        try:
            yield
        finally:
            self._threads_at_work -= 1

    def _thread_done(self, _future: asyncio.Future[Any]) -> None:
        self._threads_at_work -= 1

    def _await_threads(self, select: Callable[[float], _Events]) -> _Events:
        events = select(self._thread_timeout)
        if not events:
            raise DeadlockError(
                f"a thread did not answer within {self._thread_timeout:g} real seconds "
                f"at t={self.clock.now:.3f}"
            )
        return events

    def _jump(self, timeout: float | None) -> None:
        now = self.clock.now
        if timeout is None:
            raise DeadlockError(f"nothing left to happen at t={now:.3f}: {self._pending()}")
        # asyncio dropped cancelled timers from the head before it computed the timeout
        when = self._scheduled[0].when()  # type: ignore[attr-defined]
        if when > self._limit:
            self._limit = when + 60.0  # cleanup may need a few more timers
            raise VirtualTimeLimit(
                f"the limit of virtual time is reached at t={now:.3f}, the next timer is due "
                f"at t={when:.3f}: {self._pending()}"
            )
        self._spins = 0
        self.clock.now = max(now, when)

    def _spin(self, woken: bool) -> None:
        self._spins = 0 if woken else self._spins + 1
        if self._spins > self._max_spins:
            self._spins = 0
            raise VirtualTimeLimit(
                f"{self._max_spins} rounds of the loop without time passing at "
                f"t={self.clock.now:.3f}: {self._pending()}"
            )

    def _pending(self) -> str:
        names = sorted(
            f"{task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')})"
            for task in asyncio.all_tasks(self)
        )
        return "waiting tasks: " + (", ".join(names) or "none")


def run(
    main: Coroutine[Any, Any, T],
    *,
    limit: float = 3600.0,
    make_loop: Callable[..., VirtualLoop] = VirtualLoop,
) -> T:
    """Run a coroutine on a `VirtualLoop`, with the `time` module patched.

    Args:
        main: The coroutine.
        limit: The maximum length, in virtual seconds.
        make_loop: `VirtualLoop`, or a function that makes another one.

    Returns:
        Its result.

    Raises:
        DeadlockError: A real loop would hang forever.
        VirtualTimeLimit: It takes longer than `limit`.

    Example:
        >>> import asyncio
        >>> from turnfsm.testing import run
        >>> run(asyncio.sleep(60.0, "done"))
        'done'
    """
    clock = VirtualClock()
    with clock.patched():
        runner = asyncio.Runner(loop_factory=lambda: make_loop(clock, limit=limit))
        try:
            return runner.run(main)
        finally:
            _close(runner)


def _close(runner: asyncio.Runner) -> None:
    """As `Runner.close`; it cannot cancel tasks that wait for each other in a circle."""
    loop = runner.get_loop()
    try:
        runner.close()
    except RecursionError:
        names = ", ".join(sorted(task.get_name() for task in asyncio.all_tasks(loop)))
        logger.warning("tasks wait for each other in a circle and were not cancelled: %s", names)
        loop.close()
