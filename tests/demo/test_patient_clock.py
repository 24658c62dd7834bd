"""The clock that waits for the machine: nothing comes late because the machine is busy."""

import asyncio
import threading
import time

import pytest

from turnfsm.runtime.demo.clock import PatientLoop, run

REAL = time.monotonic
BLOCK = time.sleep


async def mark(told: list[str], name: str, seconds: float) -> None:
    """Tell the name after so many seconds of the loop."""
    await asyncio.sleep(seconds)
    told.append(name)


def test_idle_machine_keeps_real_time() -> None:
    """Who sleeps for a quarter of a second sleeps that long, and the `time` module agrees."""

    async def main() -> tuple[float, float]:
        loop, wall = asyncio.get_running_loop().time(), time.time()
        await asyncio.sleep(0.25)
        return asyncio.get_running_loop().time() - loop, time.time() - wall

    began = REAL()
    assert run(main()) == pytest.approx((0.25, 0.25), abs=1e-3)
    assert REAL() - began >= 0.2


def test_the_patient_clock_has_todays_date_and_is_restored() -> None:
    """A journal of such a run bears the day on which it was held."""

    async def main() -> float:
        return time.time()

    theirs = time.time
    assert abs(run(main()) - theirs()) < 60
    assert time.time is theirs


def test_time_stands_still_while_a_callback_runs() -> None:
    """A callback that keeps the processor makes nobody late: no time has passed for the others."""

    async def main() -> float:
        began = asyncio.get_running_loop().time()
        BLOCK(0.3)
        await asyncio.sleep(0.01)
        return asyncio.get_running_loop().time() - began

    assert run(main()) == pytest.approx(0.01, abs=1e-3)


def test_slow_thread_is_waited_for() -> None:
    """A timer that is due after the allowance fires after the work, however long that takes."""
    told: list[str] = []

    async def work() -> None:
        await asyncio.to_thread(BLOCK, 0.5)
        told.append("work")

    async def main() -> None:
        await asyncio.gather(work(), mark(told, "soon", 0.05), mark(told, "later", 0.25))

    with asyncio.Runner(loop_factory=lambda: PatientLoop(work=0.1)) as runner:
        runner.run(main())
    assert told == ["soon", "work", "later"]


def test_other_threads_wake_the_loop() -> None:
    """A call from outside is seen at once, long before the next timer, and time has passed."""

    async def main() -> float:
        loop, called = asyncio.get_running_loop(), asyncio.Event()
        caller = threading.Timer(0.1, loop.call_soon_threadsafe, [called.set])
        caller.start()
        waiting = asyncio.create_task(asyncio.sleep(60))
        await called.wait()
        waiting.cancel()
        return loop.time()

    assert 0.05 < run(main()) < 30


def test_polling_comes_to_an_end() -> None:
    """Who sleeps for less than the clock can tell still gets to the moment that he waits for."""

    async def main() -> int:
        loop, rounds = asyncio.get_running_loop(), 0
        while loop.time() < 1e-6:
            await asyncio.sleep(1e-30)
            rounds += 1
        return rounds

    assert run(main()) < 2000
