"""The cost of an instance: memory, creation time, and the growth of memory in a burst of posts."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from turnfsm.fsm import Machine, load_flow
from turnfsm.runtime import TurnRuntime

from .cycle import FLOW, Floor
from .engines import Host

__all__ = ["burst", "host_of", "sizes"]


def host_of(flow: Any) -> Any:
    """A host whose methods do nothing, for any flow."""
    actions = {name: lambda self, event: None for name in flow.actions}
    given = {name: lambda self: True for name in flow.host_facts}
    return type("Host", (), {"__slots__": (), **actions, **given})()


def sizes(count: int = 10_000, rounds: int = 9) -> dict[str, dict[str, float]]:
    """Bytes of one of `count` live instances, and microseconds of CPU time to make one.

    Data that all instances of a flow share is not counted.
    """
    turn = load_flow("turn")
    host, silent = Host(), host_of(turn)
    makers: dict[str, Callable[[], Any]] = {
        "if/elif": Floor,
        "Machine": lambda: Machine(FLOW),
        "TurnRuntime, empty journal": lambda: TurnRuntime(FLOW, host),
        "TurnRuntime of the shipped turn": lambda: TurnRuntime(turn, silent),
    }
    return {
        name: {"bytes": _bytes(make, count), "us": _microseconds(make, count // 10, rounds)}
        for name, make in makers.items()
    }


def _bytes(make: Callable[[], Any], count: int) -> float:
    make()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = [make() for _ in range(count)]
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return (after - before) / count - 8  # the list's own slot


def _microseconds(make: Callable[[], Any], count: int, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        gc.collect()
        begin = time.thread_time_ns()
        for _ in range(count):
            make()
        times.append((time.thread_time_ns() - begin) / count / 1000)
    return statistics.median(times)


def burst(posts: int = 1_000_000) -> dict[str, float]:
    """So many posts at once: seconds of CPU time, and by how much the memory grew, in bytes,
    between the first tenth (the journal is full then) and the end."""
    turn = TurnRuntime(FLOW, Host())
    tracemalloc.start()
    _pour(turn, posts // 10)
    before, _ = tracemalloc.get_traced_memory()
    _pour(turn, posts // 10)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    begin = time.thread_time()
    _pour(turn, posts)
    spent = time.thread_time() - begin
    kept = len(turn.journal)
    return {"posts": posts, "seconds": spent, "grown": after - before, "kept": kept}


def _pour(turn: TurnRuntime, posts: int) -> None:
    post = turn.post
    for _ in range(posts // 2):
        post("user_started")
        post("user_stopped")
