"""Figures as tables, and the goals: on the terminal, and in docs/performance.md."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

from .engines import SESSION
from .frame import table

__all__ = ["CALLS", "TABLES", "goals", "goals_text", "versions"]


Line = tuple[str, str, str, str]


def goals(figures: dict[str, Any]) -> Iterator[Line]:
    """For each goal: its name, limit, measured value, and whether it was met."""
    ratio = {name: one["ratio"] for name, one in figures["engines"].items()}
    yield _most("`Machine.step`, x if/elif", 2.0, ratio["Machine.step"])
    yield _most("post as in a session, x if/elif", 6.0, ratio[SESSION])
    yield from _waits(figures["caller"])


def _waits(figures: dict[str, Any]) -> Iterator[Line]:
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


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"


CALLS = 2000
"""The number of earlier calls, each in its own exchange."""


def versions() -> dict[str, str]:
    """The versions of Python and of what was measured, without a date or the name of the
    machine."""
    measured = {name: version(name) for name in ("livekit-agents", "transitions")}
    return {"Python": platform.python_version()} | measured


def _engines(figures: dict[str, Any]) -> str:
    rows = [(name, _us(one["ns"] / 1000), f"{one['ratio']:.1f}") for name, one in figures.items()]
    return table(("engine", "us a trigger", "x if/elif"), rows)


def _caller(figures: dict[str, Any]) -> str:
    rows = []
    for what, clocks in figures.items():
        for clock, sides in clocks.items():
            stock, ours = sides["stock"], sides["TurnSession"]
            more = "" if None in (stock, ours) else f"{1000 * (ours - stock):+.1f}"
            rows.append((what, clock, _seconds(stock), _seconds(ours), more))
    return table(("wait, s", "time", "stock", "TurnSession", "ms more"), rows)


def _session(figures: dict[str, Any]) -> str:
    minute, begin = figures["minute"], figures["begin"]
    kib = {name: held / 1024 for name, held in begin["bytes"].items()}
    rows = [
        _sides("a minute of conversation, scripted voice, ms", minute["scripted"], 1000),
        _sides("the same with LiveKit's VAD and recordings, ms", minute["vad"], 1000),
        _sides("to create and start a session, ms", begin["seconds"] | {"ratio": begin["ratio"]}),
        _sides("memory of a started session, KiB", kib, 1),
        _sides(f"event loop blocked, {CALLS:,} earlier calls, ms", figures["stall"]),
    ]
    return table(("", "stock", "TurnSession", "x stock"), rows)


def _sides(what: str, of: dict[str, float], times: float = 1000) -> tuple[str, ...]:
    ratio = of.get("ratio", of["TurnSession"] / of["stock"])
    digits = 1 if times * of["stock"] < 100 else 0
    sides = (f"{times * of[name]:.{digits}f}" for name in ("stock", "TurnSession"))
    return what, *sides, f"{ratio:.2f}"


TABLES: dict[str, Callable[[Any], str]] = {
    "engines": _engines,
    "caller": _caller,
    "session": _session,
}
"""The table of each part: of docs/performance.md."""


def goals_text(figures: dict[str, Any]) -> str:
    """The goals, and whether they were met."""
    return table(("goal", "wanted", "measured", ""), goals(figures))


def _us(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.3f}"
