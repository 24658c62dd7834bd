"""`python -m bench`: a turn cycle on each engine, as time for a trigger and as ratio to the floor.

The rounds of the engines are interleaved and a ratio is taken inside each round; the table shows
medians. CPU time of this thread is counted, so that other processes hardly matter.
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable

from bench.engines import ENGINES, Engine

CYCLE = (
    ("user_started", "listening"),
    ("turn_committed", "listening"),  # its guard fails
    ("user_stopped", "listening"),
    ("turn_committed", "thinking"),
    ("tool_started", "tool_running"),
    ("preemptive_generation", "tool_running"),  # its guard fails
    ("tools_drained", "thinking"),
    ("playout_started", "speaking"),
    ("user_paused_output", "paused"),
    ("output_resumed", "speaking"),
    ("user_paused_output", "paused"),
    ("barge_in", "interrupted"),
    ("settled", "listening"),
    ("playout_started", "listening"),  # late: not declared there
)


def main() -> None:
    """Measure every engine, print the table, write JSON when asked."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cycles", type=int, default=500, help="cycles of an engine in a round")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE, too")
    options = parser.parse_args()
    figures = measure(options.rounds, options.cycles)
    print(f"{'engine':28} {'ns a trigger':>12} {'x floor':>8}")
    for name, figure in figures.items():
        print(f"{name:28} {figure['ns']:12.0f} {figure['ratio']:8.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)


def measure(rounds: int, cycles: int) -> dict[str, dict[str, float]]:
    """Time all engines, the floor first; each must reach the same states before it is timed."""
    engines = {name: make() for name, make in ENGINES.items()}
    for name, engine in engines.items():
        agree(name, engine)
    times: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(rounds):
        for name, engine in engines.items():
            times[name].append(nanoseconds(engine.fire, cycles))
    floor = next(iter(times.values()))
    return {
        name: {
            "ns": statistics.median(own),
            "ratio": statistics.median(a / b for a, b in zip(own, floor, strict=True)),
        }
        for name, own in times.items()
    }


def agree(name: str, engine: Engine) -> None:
    """Stop when an engine is not where the cycle says after a trigger."""
    for trigger, state in CYCLE:
        engine.fire(trigger)
        if engine.state() != state:
            raise SystemExit(f"{name}: {trigger} led to {engine.state()}, not to {state}")


def nanoseconds(fire: Callable[[str], object], cycles: int) -> float:
    """CPU time of one trigger, in nanoseconds, over this many cycles."""
    triggers = [trigger for trigger, _ in CYCLE]
    gc.collect()
    begin = time.thread_time_ns()
    for _ in range(cycles):
        for trigger in triggers:
            fire(trigger)
    return (time.thread_time_ns() - begin) / (cycles * len(triggers))


if __name__ == "__main__":
    main()
