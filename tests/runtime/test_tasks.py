"""Asynchronous effects: owned by a state, a scope or the session; their end is a trigger."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from calls import Host, runtime

from turnfsm import Event, TurnRuntime
from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.testing.clock import VirtualClock


class Sleeper:
    """Effects that sleep, and how each ended."""

    def __init__(self, seconds: float = 100.0) -> None:
        self.seconds = seconds
        self.ended: list[str] = []

    def __call__(self, name: str) -> Callable[[Event], Awaitable[None]]:
        async def sleep(event: Event) -> None:
            try:
                await asyncio.sleep(self.seconds)
                self.ended.append(f"{name} ended")
            except asyncio.CancelledError:
                self.ended.append(f"{name} cancelled in {self.turn.state}")
                raise

        return sleep

    turn: TurnRuntime


def talking(seconds: float = 100.0) -> tuple[TurnRuntime, Sleeper]:
    """A step talks; a task of the state, of the step and of the session run."""
    sleeper = Sleeper(seconds)
    names = ("fetch", "watch", "record")
    turn = sleeper.turn = runtime(Host(**{name: sleeper(name) for name in names}))
    turn.post("step_started", "s1")
    turn.post("tick", "call 7")
    return turn, sleeper


async def test_a_task_ends_with_its_state(virtual_time: VirtualClock) -> None:
    """Leaving the state cancels it; the tasks of the step and of the session go on."""
    turn, sleeper = talking()
    await asyncio.sleep(1)
    turn.post("barge_in")
    await asyncio.sleep(0)
    assert sleeper.ended == ["fetch cancelled in busy"]
    await turn.aclose()


async def test_a_task_ends_with_the_state_when_it_is_entered_again(
    virtual_time: VirtualClock,
) -> None:
    """Re-entry is an exit, too; an internal transition is none."""
    turn, sleeper = talking()
    await asyncio.sleep(1)
    turn.post("playout_started", "s1")
    await asyncio.sleep(0)
    assert sleeper.ended == []
    turn.post("again")
    await asyncio.sleep(0)
    assert sleeper.ended == ["fetch cancelled in talking"]
    await turn.aclose()


async def test_a_task_ends_with_its_scope(virtual_time: VirtualClock) -> None:
    """The end of the step cancels its task, whatever the state."""
    turn, sleeper = talking()
    await asyncio.sleep(1)
    turn.post("step_finished", "s1")
    await asyncio.sleep(0)
    assert sleeper.ended == ["watch cancelled in idle", "fetch cancelled in idle"]
    await turn.aclose()
    assert sleeper.ended[2:] == ["record cancelled in idle"]


async def test_a_scope_that_begins_ends_the_one_before(virtual_time: VirtualClock) -> None:
    """The new step's tasks are not those of the old one."""
    turn, sleeper = talking()
    await asyncio.sleep(1)
    turn.post("barge_in")
    turn.post("step_started", "s2")
    await asyncio.sleep(1)
    assert sleeper.ended == ["fetch cancelled in talking", "watch cancelled in talking"]
    await turn.aclose()
    assert len(sleeper.ended) == 6


async def test_a_task_of_the_session_ends_with_it(virtual_time: VirtualClock) -> None:
    """`aclose` waits until every task has ended."""
    turn, sleeper = talking()
    await asyncio.sleep(1)
    await turn.aclose()
    assert sorted(sleeper.ended) == [
        f"{name} cancelled in talking" for name in ("fetch", "record", "watch")
    ]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_end_of_a_task_is_a_trigger(virtual_time: VirtualClock) -> None:
    """`done` is posted when it has ended, with the entry that chose it as cause."""
    turn, _sleeper = talking(2.0)
    await asyncio.sleep(3)
    entry = next(entry for entry in turn.journal if entry.trigger == "fetched")
    assert (entry.t, entry.cause, entry.data) == (2.0, 2, {"action": "fetch"})
    assert entry.of == "call 7"
    assert turn.state == "busy"
    await turn.aclose()


async def test_a_task_that_raises_is_a_trigger(virtual_time: VirtualClock) -> None:
    """`failed` is posted, the error is noted and logged."""

    async def fetch(event: Event) -> None:
        await asyncio.sleep(1)
        raise ValueError("no line")

    turn = runtime(Host(fetch=fetch))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(1.5)
    entry = list(turn.journal)[-1]
    assert (entry.trigger, turn.state) == ("fetch_failed", "busy")
    assert entry.data["error"] == "ValueError: no line"
    await turn.aclose()


async def test_a_task_that_somebody_else_cancels_has_failed(
    virtual_time: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever waits for its trigger hears of it; only its owner's end is silent."""
    tasks: list[asyncio.Task[Any]] = []

    def fetch(event: Event) -> asyncio.Task[Any]:
        tasks.append(asyncio.create_task(asyncio.sleep(100)))
        return tasks[-1]

    turn = runtime(Host(fetch=fetch))
    turn.machine.restore("talking")
    turn.post("tick")
    tasks[0].cancel()
    await asyncio.sleep(0.1)
    assert [entry.trigger for entry in turn.journal] == ["tick", "fetch_failed"]
    assert "action 'fetch' was cancelled after tick" in caplog.text
    await turn.aclose()


async def test_a_task_posts_nothing_after_its_owner_has_ended(
    virtual_time: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A task that swallows its cancellation and goes on posts no `done`."""

    async def stubborn(event: Event) -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(1)

    turn = runtime(Host(fetch=stubborn))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(1)
    turn.post("barge_in")
    await asyncio.sleep(1.9)
    assert [entry.trigger for entry in turn.journal] == ["tick", "barge_in"]
    assert caplog.text == ""
    await turn.aclose()
    assert turn._tasks is not None
    assert not turn._tasks._over


async def test_a_task_that_raises_while_it_is_cancelled_is_logged(
    virtual_time: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Its error is not a trigger: what it belonged to is over."""

    async def clumsy(event: Event) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            raise ValueError("while cleaning up")

    turn = runtime(Host(fetch=clumsy))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(1)
    turn.post("barge_in")
    await asyncio.sleep(0.1)
    [record] = caplog.records
    assert record.getMessage().startswith("a task raised while it was cancelled: <")
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "while cleaning up"
    assert [entry.trigger for entry in turn.journal] == ["tick", "barge_in"]
    await turn.aclose()


async def test_closing_waits_for_a_hanging_task_only_so_long(
    virtual_time: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A task that ignores its cancellation is reported and left."""
    released = asyncio.Event()

    async def deaf(event: Event) -> None:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()

    turn = runtime(Host(fetch=deaf))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(1)
    await turn.aclose(max_wait=2.0)
    assert virtual_time.now == 3.0
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert said[0].startswith("a task did not end within 2 s of its cancellation: <")
    released.set()
    await asyncio.sleep(0)


@pytest.mark.parametrize("point", range(5))
async def test_an_effect_may_be_cancelled_at_every_await(
    virtual_time: VirtualClock, point: int
) -> None:
    """Wherever its state is left, the machine is in a state, and its clean-up runs."""
    log: list[str] = []

    async def fetch(event: Event) -> None:
        try:
            for step in range(5):
                log.append(f"step {step}")
                await asyncio.sleep(1)
        finally:
            log.append("cleaned up")

    turn = runtime(Host(fetch=fetch))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(point + 0.5)
    assert turn.post("barge_in").dest == "busy"
    await asyncio.sleep(0.1)
    assert log == [*(f"step {i}" for i in range(point + 1)), "cleaned up"]
    assert turn.state == "busy"
    assert turn.post("tick")
    await turn.aclose()


async def test_a_task_that_leaves_its_own_state_is_cancelled(virtual_time: VirtualClock) -> None:
    """It ends at its next await: what it has posted stands."""
    log: list[str] = []

    async def fetch(event: Event) -> None:
        await asyncio.sleep(1)
        turn.post("barge_in")
        log.append("posted")
        await asyncio.sleep(0)
        log.append("went on")

    turn = runtime(Host(fetch=fetch))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(1.5)
    assert (log, turn.state) == (["posted"], "busy")
    await turn.aclose()


async def test_a_task_may_close_its_runtime(virtual_time: VirtualClock) -> None:
    """`aclose` does not wait for the task that awaits it."""
    log: list[str] = []

    async def record(event: Event) -> None:
        await asyncio.sleep(1)
        try:
            await turn.aclose()
        finally:
            log.append("closed")

    turn = runtime(Host(record=record))
    turn.post("step_started", "s1")
    await asyncio.sleep(2)
    assert (log, turn.closed) == (["closed"], True)


async def test_the_cause_of_what_a_task_posts_is_the_entry_that_chose_it(
    virtual_time: VirtualClock,
) -> None:
    """Also after it has waited, and only in its own runtime."""
    other = runtime()

    async def record(event: Event) -> None:
        await asyncio.sleep(1)
        turn.post("user_stopped")
        other.post("user_stopped")

    turn = runtime(Host(record=record))
    turn.post("user_stopped")
    turn.post("step_started", "s1")
    await asyncio.sleep(2)
    assert [entry.cause for entry in turn.journal] == [None, None, 2]
    assert [entry.cause for entry in other.journal] == [None]
    await turn.aclose()


async def test_anything_that_can_be_awaited_is_run(virtual_time: VirtualClock) -> None:
    """An object with `__await__` is no coroutine, and runs all the same."""

    class Later:
        def __await__(self) -> Generator[Any, None, None]:
            yield from asyncio.sleep(1).__await__()

    turn = runtime(Host(fetch=lambda event: Later()))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(1.5)
    assert [entry.trigger for entry in turn.journal] == ["tick", "fetched"]
    await turn.aclose()


async def test_an_effect_that_closes_the_runtime_starts_no_task(virtual_time: VirtualClock) -> None:
    """Its coroutine is closed unstarted, without a warning."""

    async def never() -> None:
        raise AssertionError

    def greet(event: Event) -> Awaitable[None]:
        turn.close()
        return never()

    turn = runtime(Host(greet=greet))
    turn.post("ring")
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_an_asynchronous_effect_needs_a_loop() -> None:
    """Without one it has failed, as every effect that cannot run."""

    async def fetch(event: Event) -> None:
        raise AssertionError

    turn = runtime(Host(fetch=fetch))
    turn.machine.restore("talking")
    turn.post("tick")
    [note] = turn.journal.notes("effect_failed")
    assert note.data["error"] == "RuntimeError: no loop runs; start() the runtime in one"
    assert turn.state == "busy"


def test_a_runtime_that_was_made_before_its_loop_finds_it() -> None:
    """The first asynchronous effect runs in the loop that runs by then; no `start` is needed."""
    ran: list[str] = []

    async def fetch(event: Event) -> None:
        ran.append(event.trigger)

    turn = runtime(Host(fetch=fetch))
    turn.machine.restore("talking")

    async def main() -> None:
        turn.post("tick")
        await asyncio.sleep(0)
        await turn.aclose()

    asyncio.run(main())
    assert ran == ["tick"]
    assert list(turn.journal.notes("effect_failed")) == []


async def test_the_end_of_a_task_that_names_no_trigger_is_no_event() -> None:
    """`watch` declares neither `done` nor `failed`."""
    wrong: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))

    async def watch(event: Event) -> None:
        await asyncio.sleep(0)

    turn = runtime(Host(watch=watch))
    turn.post("step_started", "s1")
    before = len(list(turn.journal))
    await asyncio.sleep(0.01)
    assert len(list(turn.journal)) == before
    assert wrong == []
    await turn.aclose()


async def test_posts_from_many_threads_are_each_decided_once() -> None:
    """Sixteen thousand, from sixteen threads: each is decided once, in its thread's order."""
    turn = runtime(maxlen=20_000)
    turn.start()

    def work(thread: int) -> None:
        for number in range(1000):
            futures.append(turn.post_threadsafe("user_stopped", thread=thread, number=number))

    futures: list[Any] = []
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(16) as pool:
        await asyncio.gather(*(loop.run_in_executor(pool, work, n) for n in range(16)))
    await asyncio.sleep(0)
    done, pending = await loop.run_in_executor(None, wait, futures, 30)
    assert (len(done), len(pending)) == (16_000, 0)
    assert all(future.result() for future in futures)
    seen: dict[int, int] = dict.fromkeys(range(16), 0)
    for entry in turn.journal:
        assert entry.data["number"] == seen[entry.data["thread"]]
        seen[entry.data["thread"]] += 1
    assert set(seen.values()) == {1000}
    await turn.aclose()


async def test_a_post_from_a_thread_cannot_be_withdrawn() -> None:
    """What has happened is decided, also when the one who waits for the verdict is cancelled."""
    turn = runtime()
    turn.start()
    future = turn.post_threadsafe("ring", "call 7", who="me")
    assert not future.cancel()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(future), 0)
    await asyncio.sleep(0.01)
    assert turn.state == "busy"
    [entry] = turn.journal
    assert (entry.of, entry.data) == ("call 7", {"who": "me"})
    unknown = turn.post_threadsafe("rang")
    await asyncio.sleep(0.01)
    with pytest.raises(LookupError, match="no trigger 'rang'"):
        unknown.result(0)
    await turn.aclose()
    closed = turn.post_threadsafe("ring")
    await asyncio.sleep(0.01)
    assert closed.result(0).reason == "closed"  # type: ignore[union-attr]


def test_threads_need_a_started_runtime() -> None:
    """Before there is a loop it is an error; after the loop's end the answer is "closed"."""
    turn = runtime()
    with pytest.raises(
        TurnfsmError, match=r"^the runtime has no loop yet; start\(\) it before other threads post$"
    ):
        turn.post_threadsafe("ring")

    async def main() -> None:
        turn.start()

    asyncio.run(main())
    assert turn.post_threadsafe("ring").result(0).reason == "closed"  # type: ignore[union-attr]
