"""Interleaved rounds: each engine's time, and its ratio to the baseline in the same round."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping

from .cycle import CYCLE, REPLIES, Engine

__all__ = ["Figures", "agree", "measure", "nanoseconds"]

Figures = dict[str, dict[str, float]]

_SHARE = 0.02  # seconds of a round that an engine gets; at least one cycle


def measure(engines: Mapping[str, Callable[[], Engine]], rounds: int) -> Figures:
    """Nanoseconds of CPU time for a trigger, and the ratio to the first engine: medians.

    Every engine must pass the same states before it is timed.
    """
    made = {name: make() for name, make in engines.items()}
    for name, engine in made.items():
        agree(name, engine)
    cycles = {name: _calibrate(engine) for name, engine in made.items()}
    times: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, engine in made.items():
            times[name].append(nanoseconds(engine, cycles[name]))
    for engine in made.values():
        engine.close()
    floor = next(iter(times.values()))
    return {
        name: {
            "ns": statistics.median(own),
            "ratio": statistics.median(a / b for a, b in zip(own, floor, strict=True)),
        }
        for name, own in times.items()
    }


def agree(name: str, engine: Engine) -> None:
    """Raise an error if an engine has another state than the cycle says, or has not acted."""
    before = engine.replies() if engine.replies is not None else 0
    for trigger, state in CYCLE:
        engine.fire(trigger)
        if engine.state() != state:
            raise SystemExit(f"{name}: {trigger} led to {engine.state()}, not to {state}")
    if engine.replies is not None and engine.replies() - before != REPLIES:
        raise SystemExit(f"{name}: {engine.replies() - before} replies in a cycle, not {REPLIES}")


def nanoseconds(engine: Engine, cycles: int) -> float:
    """CPU time of this thread for one trigger, over so many cycles."""
    gc.collect()
    triggers, fire = [trigger for trigger, _ in CYCLE], engine.fire
    begin = time.thread_time_ns()
    for _ in range(cycles):
        for trigger in triggers:
            fire(trigger)
    return (time.thread_time_ns() - begin) / (cycles * len(CYCLE))


def _calibrate(engine: Engine) -> int:
    once = nanoseconds(engine, 3) * len(CYCLE)
    return max(1, int(_SHARE * 1e9 / max(once, 1)))
