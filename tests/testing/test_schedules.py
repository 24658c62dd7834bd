"""Other schedules: fair, reproducible, and able to find a race that asyncio's order hides."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import groupby
from random import Random
from typing import Any

import pytest

from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.schedules import PermutedLoop

SEEDS = range(40)


def permuted(main: Callable[[], Coroutine[Any, Any, Any]], seed: int) -> Any:
    """The result of `main` under one schedule."""
    return run(main(), make_loop=partial(PermutedLoop, seed=seed))


async def nothing() -> None:
    """What a task does that is only awaited."""


async def hops(count: int) -> None:
    """Await so many tasks, one after another; no time passes."""
    for _ in range(count):
        await asyncio.create_task(nothing())


class Account:
    """A planted race: it checks the balance, awaits, then acts on what it has seen."""

    balance = 10

    async def spend(self, price: int) -> None:
        if self.balance >= price:
            await hops(3)
            self.balance -= price

    async def fee(self) -> None:
        await hops(3)
        self.balance = min(self.balance, 5)


async def spends_and_pays() -> int:
    """In asyncio's order the fee comes some awaits after the purchase."""
    account = Account()
    async with asyncio.TaskGroup() as group:
        group.create_task(account.spend(8))
        group.create_task(account.fee())
    return account.balance


def test_what_a_thread_adds_while_the_order_is_drawn_is_run() -> None:
    called: list[bool] = []

    class Draws(Random):
        def randrange(self, *args: Any) -> int:
            if not called:
                called.append(False)
                asyncio.get_running_loop().call_soon_threadsafe(called.append, True)
            return super().randrange(*args)

    def make_loop(*args: Any, **options: Any) -> PermutedLoop:
        loop = PermutedLoop(*args, seed=1, **options)
        loop._draws = Draws(1)
        return loop

    async def main() -> None:
        await asyncio.gather(hops(1), hops(1))
        await asyncio.sleep(1.0)

    run(main(), make_loop=make_loop)
    assert called == [False, True]


def test_a_race_that_asyncio_hides_is_found() -> None:
    """Check-await-act goes right in asyncio's order and is found within 40 seeds."""
    assert run(spends_and_pays()) == 2
    found = [seed for seed in SEEDS if permuted(spends_and_pays, seed) < 0]
    assert found


def test_a_seed_is_a_schedule() -> None:
    """The same seed gives the same order again, another seed mostly another."""
    orders = [tuple(permuted(wakes_ten, seed)) for seed in SEEDS]
    assert orders == [tuple(permuted(wakes_ten, seed)) for seed in SEEDS]
    assert len(set(orders)) > len(SEEDS) / 2


async def wakes_ten() -> list[int]:
    """The order in which ten tasks wake that wait for a future each."""
    loop, order = asyncio.get_running_loop(), list[int]()
    futures = [loop.create_future() for _ in range(10)]

    async def wait(number: int) -> None:
        await futures[number]
        order.append(number)

    tasks = [asyncio.create_task(wait(number)) for number in range(10)]
    await asyncio.sleep(0.1)
    for future in futures:
        future.set_result(None)
    await asyncio.gather(*tasks)
    return order


async def one_future() -> list[int]:
    """Callbacks and waiting tasks of one future, beside the noise of others."""
    future, order = asyncio.get_running_loop().create_future(), list[int]()

    async def wait(number: int) -> None:
        await future
        order.append(number)

    tasks = []
    for number in range(0, 8, 2):
        tasks.append(asyncio.create_task(wait(number)))
        await asyncio.sleep(0.1)
        future.add_done_callback(lambda _, number=number: order.append(number + 1))
    future.set_result(None)
    await asyncio.gather(*tasks, wakes_ten())
    return order


async def plain_callbacks() -> list[int]:
    """Callbacks of `call_soon`, beside the noise of others."""
    loop, order = asyncio.get_running_loop(), list[int]()
    noise = asyncio.create_task(wakes_ten())
    await asyncio.sleep(0.1)
    for number in range(8):
        loop.call_soon(order.append, number)
        if number % 3 == 0:
            await asyncio.sleep(0)
    await noise
    return order


async def starts() -> list[int]:
    """The order in which tasks start."""
    order = list[int]()

    async def begin(number: int) -> None:
        order.append(number)

    await asyncio.gather(wakes_ten(), *(begin(number) for number in range(8)))
    return order


@pytest.mark.parametrize("main", [one_future, plain_callbacks, starts])
def test_what_code_may_rely_on_is_kept(main: Callable[[], Coroutine[Any, Any, list[int]]]) -> None:
    """Callbacks of a future, plain callbacks and starts of tasks keep their order."""
    for seed in SEEDS:
        assert permuted(main, seed) == list(range(8))


async def yields() -> list[str]:
    """A task that yields once, after others were made ready."""
    order, loop = list[str](), asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(5)]

    async def wait(future: asyncio.Future[None]) -> None:
        await future
        order.append("other")

    tasks = [asyncio.create_task(wait(future)) for future in futures]
    await asyncio.sleep(0.1)
    for future in futures:
        future.set_result(None)
    await asyncio.sleep(0)
    order.append("yielded")
    await asyncio.gather(*tasks)
    return order


def test_a_task_that_yields_lets_all_others_go_first() -> None:
    """After `sleep(0)` everything that was ready before has run."""
    for seed in SEEDS:
        assert [word for word, _ in groupby(permuted(yields, seed))] == ["other", "yielded"]


async def equal_deadlines() -> list[int]:
    """The order in which timers with one deadline fire."""
    loop, order = asyncio.get_running_loop(), list[int]()
    for number in range(8):
        loop.call_at(5.0, order.append, number)
    await asyncio.sleep(6)
    return order


def test_timers_with_one_deadline_fire_in_any_order() -> None:
    """No order is promised for equal deadlines; without permuting it is that of setting."""
    assert run(equal_deadlines()) == list(range(8))
    assert len({tuple(permuted(equal_deadlines, seed)) for seed in SEEDS}) > len(SEEDS) / 2
