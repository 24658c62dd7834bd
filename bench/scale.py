"""Many runtimes in one process on one core: how long an event waits for its effect.

Events are due at fixed times, whether or not the process keeps up. The latency counts from the time
at which an event was due, so a core that is too slow shows in the figures. The clock is the CPU
time of this thread, plus the time that it would have slept: other processes on the machine do not
count.
"""

from __future__ import annotations

import asyncio
import gc
import time
from array import array
from typing import Any

from turnfsm.runtime import Event, TurnRuntime

from .cycle import CYCLE
from .engines import TIMED, new_loop

__all__ = ["scale"]

_TICK = 0.0005  # seconds between two checks for due events


class _Host:
    """Records the delay from the due time to the effect."""

    __slots__ = ("begin", "due", "idle", "waits")

    def __init__(self) -> None:
        self.due = self.idle = 0.0
        self.begin = time.thread_time()
        self.waits = array("d")

    def now(self) -> float:
        """Seconds of a core that does nothing else."""
        return time.thread_time() - self.begin + self.idle

    def reply(self, event: Event) -> None:
        self.waits.append(self.now() - self.due)


def scale(
    count: int = 10_000,
    rate: float = 50.0,
    seconds: float = 5.0,
    kind: str = "asyncio",
    collect: bool = False,
) -> dict[str, Any]:
    """`count` runtimes with timers and journals (64 entries each) at `rate` events a second.

    Args:
        collect: Leave Python's garbage collector on. A runtime contains no reference cycles, but
            each full collection traverses every entry of every journal.
    """
    loop, host = new_loop(kind), _Host()
    turns = [TurnRuntime(TIMED, host, maxlen=64) for _ in range(count)]
    for turn in turns:
        turn.start(loop)
    gc.collect()
    if not collect:
        gc.disable()
    try:
        posted = loop.run_until_complete(_drive(turns, host, count * rate, seconds))
    finally:
        gc.enable()
        for turn in turns:
            turn.close()
        loop.close()
    took, waits = host.now(), sorted(host.waits)
    asked = {"runtimes": count, "rate": rate, "seconds": seconds, "loop": kind, "gc": collect}
    return {
        **asked,
        "posted": posted,
        "us": 1e6 * (took - host.idle) / posted,
        "core": (took - host.idle) / seconds,
        "effects": len(waits),
        "p50_ms": 1000 * waits[len(waits) // 2],
        "p99_ms": 1000 * waits[int(len(waits) * 0.99)],
        "max_ms": 1000 * waits[-1],
    }


async def _drive(turns: list[TurnRuntime], host: _Host, rate: float, seconds: float) -> int:
    posts = [turn.post for turn in turns]
    triggers = [trigger for trigger, _ in CYCLE]
    total, number, count, length = int(rate * seconds), 0, len(turns), len(CYCLE)
    host.begin = time.thread_time()
    while number < total:
        due = min(total, int(host.now() * rate))
        if number == due:
            host.idle += _TICK  # it would have slept
        while number < due:
            host.due = number / rate
            # neighbours are at different places of the cycle, as conversations are
            index = number % count
            posts[index](triggers[(number // count + index) % length])
            number += 1
        await asyncio.sleep(0)  # the timers
    return number
