"""Virtual time: jumps, order, threads, and clear ends."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
from itertools import count
from typing import Any

import pytest

from turnfsm.runtime.testing.clock import (
    DeadlockError,
    VirtualClock,
    VirtualLoop,
    VirtualTimeLimit,
    run,
)


def test_an_hour_of_sleep_takes_no_time() -> None:
    """Sleeping advances the loop's time exactly and costs next to nothing."""

    async def sleep_long() -> float:
        await asyncio.sleep(1800.25)
        await asyncio.sleep(0.5)
        return asyncio.get_running_loop().time()

    begun = time.perf_counter()
    assert run(sleep_long()) == 1800.75
    assert time.perf_counter() - begun < 5


def test_equal_deadlines_fire_in_the_order_they_were_set() -> None:
    """Timers due at the same instant are first in, first out, however many they are."""

    async def order() -> list[int]:
        loop, fired = asyncio.get_running_loop(), []
        for n in range(200):
            loop.call_at(5.0, fired.append, n)
        await asyncio.sleep(6)
        return fired

    assert run(order()) == list(range(200))


def test_a_timer_set_later_for_an_earlier_time_fires_first() -> None:
    """Order follows deadlines before age."""

    async def order() -> list[str]:
        loop, fired = asyncio.get_running_loop(), []
        loop.call_at(3.0, fired.append, "three")
        loop.call_at(1.0, fired.append, "one")
        await asyncio.sleep(4)
        return fired

    assert run(order()) == ["one", "three"]


def test_the_time_module_follows_and_is_restored() -> None:
    """All six readings move with the loop, and the real functions come back after an error."""
    names = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
    real = [getattr(time, name) for name in names]

    async def measure() -> list[float]:
        before = [getattr(time, name)() for name in names]
        await asyncio.sleep(2)
        after = [getattr(time, name)() for name in names]
        return [b - a for a, b in zip(before, after, strict=True)]

    deltas = run(measure())
    assert deltas == pytest.approx([2, 2e9, 2, 2e9, 2, 2e9], rel=1e-6)
    with pytest.raises(KeyError), VirtualClock().patched():
        raise KeyError
    assert [getattr(time, name) for name in names] == real


def test_perf_counter_ns_breaks_ties() -> None:
    """Two readings at the same instant differ, as they do on a real machine."""
    clock = VirtualClock()
    assert clock.perf_counter_ns() < clock.perf_counter_ns()


def test_a_set_of_tasks_has_the_same_order_in_every_run() -> None:
    """Tasks hash by age, so code that walks over a set of them is deterministic."""

    async def order() -> list[str]:
        tasks = {asyncio.create_task(asyncio.sleep(1), name=f"t{n}") for n in range(50)}
        names = [task.get_name() for task in tasks]
        await asyncio.wait(tasks)
        return names

    assert run(order()) == run(order()) == run(order())


def test_time_stands_still_while_a_thread_works() -> None:
    """The loop waits for executor work for real before it jumps to the next timer."""

    async def work() -> tuple[str, float]:
        loop = asyncio.get_running_loop()
        timer = asyncio.create_task(asyncio.sleep(100))
        answer = await asyncio.to_thread(lambda: time.sleep(0.02) or "done")
        at = loop.time()
        await timer
        return answer, at

    assert run(work()) == ("done", 0.0)


def test_a_foreign_thread_wakes_the_loop() -> None:
    """`call_soon_threadsafe` arrives while a `real_work` block declares it."""

    async def wait() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        woken = asyncio.Event()
        thread = threading.Timer(0.02, lambda: loop.call_soon_threadsafe(woken.set))
        with loop.real_work():
            thread.start()
            await woken.wait()
        thread.join()
        return loop.time()

    assert run(wait()) == 0.0


def test_a_silent_thread_is_reported() -> None:
    """Declared work that never answers ends the test after the loop's `thread_timeout`."""
    loop = VirtualLoop(thread_timeout=0.05)

    async def wait() -> None:
        with loop.real_work():
            await asyncio.Event().wait()

    task = loop.create_task(wait())
    with pytest.raises(DeadlockError, match=r"did not answer within 0\.05 real seconds"):
        loop.run_until_complete(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()


def test_a_hang_is_an_error_that_names_the_task() -> None:
    """Where a real loop would wait forever, the virtual one says when and who."""

    async def hang_here() -> None:
        await asyncio.sleep(3)
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match=r"nothing left to happen at t=3\.000.*hang_here"):
        run(hang_here())


def test_a_ticker_meets_the_limit_of_virtual_time() -> None:
    """A program that sets timers without end ends at the limit."""

    async def tick() -> None:
        for _ in count():
            await asyncio.sleep(10)

    with pytest.raises(VirtualTimeLimit, match=r"reached at t=60\.000"):
        run(tick(), limit=60)


def test_a_busy_loop_is_an_error() -> None:
    """A program that never lets time pass ends too."""
    loop = VirtualLoop(spins=500)

    async def spin() -> None:
        for _ in count():
            await asyncio.sleep(0)

    task = loop.create_task(spin())
    with pytest.raises(VirtualTimeLimit, match="500 rounds of the loop without time passing"):
        loop.run_until_complete(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()


async def test_the_fixture_gives_a_virtual_loop(virtual_time: VirtualClock) -> None:
    """A test that asks for `virtual_time` runs on it, `time` patched."""
    begun = time.time()
    await asyncio.sleep(500)
    assert time.time() - begun == 500 == virtual_time.now


async def test_what_livekit_dates_follows_the_virtual_clock(virtual_time: VirtualClock) -> None:
    """LiveKit orders a conversation by these dates."""
    from livekit.agents.llm import FunctionCallOutput

    await asyncio.sleep(500)
    output = FunctionCallOutput(call_id="1", name="book", output="booked", is_error=False)
    assert output.created_at == time.time() == virtual_time.time()


async def test_other_tests_keep_a_real_loop() -> None:
    """Without the fixture the plugin changes nothing."""
    assert not isinstance(asyncio.get_running_loop(), VirtualLoop)


def test_importing_the_kit_does_not_import_livekit() -> None:
    """The clock is usable where livekit-agents is not installed."""
    code = "import sys, turnfsm.testing; sys.exit('livekit.agents' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_name_is_an_attribute_error() -> None:
    """The lazy part of the package does not swallow typing mistakes."""
    import turnfsm.testing

    with pytest.raises(AttributeError, match="no attribute 'ScriptedUsr'"):
        _ = turnfsm.testing.ScriptedUsr  # type: ignore[attr-defined]


def test_a_task_factory_makes_the_tasks() -> None:
    """As asyncio's loop does."""
    made: list[str] = []

    def factory(loop: Any, coro: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(coro.__qualname__)
        return asyncio.Task(coro, loop=loop, **options)

    async def child() -> None:
        await asyncio.sleep(1)

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(factory)
        await asyncio.create_task(child())

    run(main())
    assert [name.rpartition(".")[2] for name in made][:1] == ["child"]


def test_tasks_that_wait_for_each_other_do_not_keep_the_loop_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """asyncio cannot cancel them; they are named."""

    async def main() -> None:
        async def wait_for(number: int) -> None:
            await asyncio.sleep(1)
            await tasks[number]

        tasks = [asyncio.create_task(wait_for(1 - n), name=f"task {n}") for n in (0, 1)]
        await asyncio.sleep(2)

    run(main())
    assert (
        "tasks wait for each other in a circle and were not cancelled: task 0, task 1"
        in caplog.text
    )
    gc.collect()  # asyncio logs each of them once more, here and not during another test
    assert caplog.text.count("Task was destroyed but it is pending") == 2
