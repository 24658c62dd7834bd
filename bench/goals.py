"""The goals, and by how much they were missed; docs/performance.md says why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .engines import SESSION

__all__ = ["goals"]

Line = tuple[str, str, str, str]


def goals(figures: dict[str, Any]) -> Iterator[Line]:
    """For each goal: its name, limit, measured value, and whether it was met."""
    engines = figures["engines"]["engines"]
    post = "TurnRuntime.post, journal"
    ratio = {name: one["ratio"] for name, one in engines.items()}
    yield _most("`Machine.step`, x if/elif", 2.0, ratio["Machine.step"])
    yield _most("post as in a session, x if/elif", 6.0, ratio[SESSION])
    for peer, times in _PEERS.items():
        yield _least(f"times faster than {peer}", times, ratio[peer] / ratio[post])
    size = figures["size"]["size"]
    machine, runtime = size["Machine"], size["TurnRuntime, empty journal"]
    yield _most("bytes of a Machine", 300, machine["bytes"])
    yield _most("bytes of a TurnRuntime, empty journal", 2000, runtime["bytes"])
    yield _most("us to make a Machine", 2.0, machine["us"])
    yield _most("us to make a TurnRuntime", 10.0, runtime["us"])
    many = figures["scale"][0]
    yield _most("p99 of post to effect, 10,000 runtimes, ms", 5.0, many["p99_ms"])
    yield from _caller(figures["caller"])


_PEERS = {
    "transitions": 15,
    "transitions, AsyncMachine": 80,
    "python-statemachine": 150,
}


def _caller(figures: dict[str, Any]) -> Iterator[Line]:
    first = figures["end of speech to first audio"]
    for clock, sides in first.items():
        if None in sides.values():
            continue
        more = sides["TurnSession"] - sides["stock"]
        yield _most(f"end of speech to first audio, {clock}, ms more", 1.0, 1000 * more)
        yield _most(f"the same, % more, {clock}", 0.5, 100 * more / sides["stock"])


def _most(what: str, limit: float, measured: float) -> Line:
    met = measured <= limit
    said = "met" if met else f"missed by {_short(measured - limit)}"
    return what, f"at most {limit:g}", _short(measured), said


def _least(what: str, limit: float, measured: float) -> Line:
    met = measured >= limit
    said = "met" if met else f"missed by {_short(limit - measured)}"
    return what, f"at least {limit:g}", _short(measured), said


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"
