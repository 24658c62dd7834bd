"""Virtual time with random schedules, to find races that asyncio's own order never shows.

Asyncio runs callbacks in the order in which they became ready. It depends on the number of awaits
in a library, and on the network. A `PermutedLoop` draws another order, by its seed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from random import Random
from typing import Any

from .clock import VirtualClock, VirtualLoop

__all__ = ["PermutedLoop", "shuffled"]

OVERTAKES = (0.0, 0.3, 0.7)
"""The probability that a newly ready callback overtakes the others. Each seed uses one of these,
because races differ in how many awaits one task must be ahead."""


class PermutedLoop(VirtualLoop):
    """A virtual loop that wakes tasks in another order.

    It changes the order of callbacks that are ready at the same moment, and of timers with the same
    deadline. The guarantees of asyncio are kept:

    - callbacks of one future, and tasks that wait for it, run in the order in which they were
      added;
    - plain callbacks (`call_soon`, done callbacks) run in their order;
    - tasks start in the order in which they were created;
    - a task that yields with ``sleep(0)`` continues after everything that was ready before it.

    Args:
        clock: The clock; by default a new one.
        seed: Determines the order.
        options: As for `VirtualLoop`.

    Example:
        >>> import asyncio
        >>> from functools import partial
        >>> from turnfsm.testing import PermutedLoop, run
        >>> run(asyncio.sleep(1.0, "done"), make_loop=partial(PermutedLoop, seed=7))
        'done'
    """

    def __init__(self, clock: VirtualClock | None = None, *, seed: int, **options: Any) -> None:
        self._draws = Random(seed)
        self._overtakes = self._draws.choice(OVERTAKES)
        super().__init__(clock, **options)

    def _rank(self) -> float:
        return self._draws.random()

    def _run_once(self) -> None:
        ready = self._ready  # type: ignore[attr-defined]
        late: list[asyncio.Handle] = []
        if len(ready) > 1:
            # a thread may append to it meanwhile
            order = shuffled([ready.popleft() for _ in range(len(ready))], self._draws)
            if self._draws.random() < self._overtakes:
                # A later part of the order may wait for the next round: the rules still hold.
                split = self._draws.randrange(1, len(order))
                order, late = order[:split], order[split:]
            ready.extendleft(reversed(order))
        super()._run_once()  # type: ignore[misc]
        ready.extendleft(reversed(late))


def shuffled(handles: Sequence[asyncio.Handle], draws: Random) -> list[asyncio.Handle]:
    """The handles in an order that keeps the rules of `PermutedLoop`."""
    waits, follows = _rules(handles)
    free = [index for index, count in enumerate(waits) if not count]
    order = []
    while free:
        pick = draws.randrange(len(free))
        index, free[pick] = free[pick], free[-1]
        free.pop()
        order.append(handles[index])
        for later in follows[index]:
            waits[later] -= 1
            if not waits[later]:
                free.append(later)
    return order


def _rules(handles: Sequence[asyncio.Handle]) -> tuple[list[int], list[list[int]]]:
    """For each handle the number of its predecessors, and its successors."""
    follows: list[list[int]] = [[] for _ in handles]
    waits = [0] * len(handles)
    last: dict[object, int] = {}
    for index, handle in enumerate(handles):
        chains = _chains(handle)
        before = range(index) if chains is None else {last[c] for c in chains if c in last}
        for earlier in before:
            follows[earlier].append(index)
        waits[index] = len(before)
        for chain in chains or ():
            last[chain] = index
    return waits, follows


def _chains(handle: asyncio.Handle) -> tuple[object, ...] | None:
    """The sequences whose order this handle must keep; None if it must come after all earlier
    ones."""
    task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    of_future = tuple(arg for arg in (handle._args or ())[:1] if asyncio.isfuture(arg))
    if not isinstance(task, asyncio.Task):
        return ("plain", *of_future)
    if of_future:
        return of_future  # a task that is woken by this future
    return ("start",) if _begins(task) else None


def _begins(task: asyncio.Task[Any]) -> bool:
    coroutine = task.get_coro()
    if not inspect.iscoroutine(coroutine):
        return False
    return inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED
