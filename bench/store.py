"""`python -m bench.store`: the cost of storing a session.

    python -m bench.store                          SQLite
    python -m bench.store --postgres postgresql://user@host/database
    python -m bench.store --docs                   into docs/store.md, too

The rounds without and with a store alternate. A post is measured in CPU time of the event loop's
thread. A wait for the store is measured in wall time.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import attrs

from bench.cycle import CYCLE, FLOW
from bench.engines import Host
from bench.frame import Frame, table
from turnfsm import TurnRuntime
from turnfsm.runtime.journal import Redactor
from turnfsm.runtime.store.keeper import Keeper
from turnfsm.store import Store, open_store

POSTS = 40
"""The number of posts in a turn with one tool call."""

WAITS = 2
"""How often such a turn waits for the store: before the call, and after it."""


@attrs.frozen
class Cost:
    """Seconds.

    Attributes:
        post: CPU time of the posts, sorted.
        wait: The waits for the store, sorted.
    """

    post: tuple[float, ...]
    wait: tuple[float, ...] = ()

    def at(self, what: str, percent: int) -> float:
        """A percentile."""
        times: tuple[float, ...] = getattr(self, what)
        return quantiles(times, n=100)[percent - 1]


async def turns(count: int, store: Store | None) -> Cost:
    """Play so many turns at the pace of a busy call centre: a turn every 50 ms."""
    runtime = TurnRuntime(FLOW, Host())
    runtime.start()
    keeper = None
    if store is not None:
        keeper = Keeper(store, f"bench-{uuid.uuid4()}", Redactor(None), print)
        await keeper.acquire(5.0)
        keeper.begin(runtime.journal, [runtime.journal.header().to_json()], tuple)
        await keeper.durable(5.0)
    post, wait, clock = [], [], time.thread_time
    for _ in range(count):
        for n in range(POSTS):
            trigger = CYCLE[n % len(CYCLE)][0]
            began = clock()
            runtime.post(trigger)
            post.append(clock() - began)
        await asyncio.sleep(0.05)
    for _ in range(count * WAITS if keeper is not None else 0):
        for trigger, _ in CYCLE[: POSTS // WAITS]:
            runtime.post(trigger)
        began = time.perf_counter()
        if keeper is not None:
            await keeper.durable(5.0)
        wait.append(time.perf_counter() - began)
    if keeper is not None:
        await keeper.aclose(5.0)
    runtime.close()
    return Cost(tuple(sorted(post)), tuple(sorted(wait)))


def measure(address: str | None, rounds: int, count: int) -> tuple[Cost, Cost]:
    """Measure without a store and with it, in alternating rounds."""
    without: list[Cost] = []
    kept: list[Cost] = []
    for _ in range(rounds):
        without.append(asyncio.run(turns(count, None)))
        kept.append(asyncio.run(turns(count, open_store(address) if address else None)))
    return _together(without), _together(kept)


def _together(costs: Sequence[Cost]) -> Cost:
    posts = tuple(sorted(second for cost in costs for second in cost.post))
    return Cost(posts, tuple(sorted(second for cost in costs for second in cost.wait)))


def main() -> None:
    """Measure, print, write."""
    frame = Frame(
        str(__doc__),
        "store.md",
        postgres={"metavar": "URL", "help": "measure this database, too"},
        rounds={"type": int, "default": 5},
        turns={"type": int, "default": 40, "help": "of a round"},
    )
    options = frame.options
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    addresses = {"SQLite": str(folder / "calls.db")}
    if options.postgres:
        addresses["PostgreSQL"] = options.postgres
    rows: list[Any] = []
    for name, address in addresses.items():
        without, kept = measure(address, options.rounds, options.turns)
        if not rows:
            rows.append(_row("no store", without))
        rows.append(_row(name, kept))
    waits = ("wait, p50", "wait, p99", f"a turn waits ({WAITS} times)")
    text = table(("", "post, p50", "post, p99", *waits), rows)
    print(text)
    frame.write(frame.name, text)


def _row(name: str, cost: Cost) -> tuple[str, ...]:
    micro = [f"{cost.at('post', p) * 1e6:.1f} us" for p in (50, 99)]
    if not cost.wait:
        return name, *micro, "-", "-", "-"
    milli = [f"{cost.at('wait', p) * 1e3:.2f} ms" for p in (50, 99)]
    return name, *micro, *milli, f"{median(cost.wait) * WAITS * 1e3:.1f} ms"


if __name__ == "__main__":
    main()
