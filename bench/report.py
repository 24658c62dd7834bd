"""Figures as tables: on the terminal, and in docs/performance.md."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .goals import goals

__all__ = ["TABLES", "page", "room_table", "versions"]

_PACKAGES = (
    "automat",
    "livekit-agents",
    "python-statemachine",
    "sismic",
    "transitions",
    "uvloop",
    "xstate-statemachine",
)


def versions() -> dict[str, str]:
    """Python and what was measured; no day and no name of a machine, so that it is stable."""
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Markdown whose columns stand under one another, so that a terminal can show it."""
    lines = [[str(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    texts = [
        " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    rule = " | ".join(
        "-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)
    )
    return "\n".join(f"| {text} |" for text in (texts[0], rule, *texts[1:])) + "\n"


def _engines(figures: dict[str, Any]) -> str:
    rows = [
        (name, _us(one["ns"] / 1000), f"{one['ratio']:.1f}")
        for name, one in figures["engines"].items()
    ]
    node = figures["node"]
    if isinstance(node, str):
        return table(("engine", "us a trigger", "x if/elif"), rows) + f"\n{node}.\n"
    ns, what = node
    rows.append((f"for scale: {what}", _us(ns / 1000), "another language"))
    return table(("engine", "us a trigger", "x if/elif"), rows)


def _size(figures: dict[str, Any]) -> str:
    rows = [
        (name, f"{one['bytes']:.0f}", f"{one['us']:.2f}") for name, one in figures["size"].items()
    ]
    poured = figures["burst"]
    return table(("one of 10,000", "bytes", "us to make"), rows) + (
        f"\nA burst of {poured['posts']:,} posts takes {poured['seconds']:.2f} s of CPU time; "
        f"the journal keeps the last {poured['kept']:,} entries, and once it is full the memory "
        f"grows by {poured['grown']} bytes.\n"
    )


def _scale(figures: list[dict[str, Any]]) -> str:
    rows = [
        (
            f"{one['runtimes']:,} x {one['rate']:g}/s, {one['loop']}" + ", gc on" * one["gc"],
            f"{one['us']:.2f}",
            f"{100 * one['core']:.0f} %",
            f"{one['p50_ms']:.2f}",
            f"{one['p99_ms']:.2f}",
            f"{one['max_ms']:.2f}",
        )
        for one in figures
    ]
    return table(("runtimes", "us an event", "of a core", "p50 ms", "p99 ms", "max ms"), rows)


def _caller(figures: dict[str, Any]) -> str:
    rows = []
    for what, clocks in figures["waits"].items():
        for clock, sides in clocks.items():
            stock, ours = sides["stock"], sides["TurnSession"]
            more = "" if None in (stock, ours) else f"{1000 * (ours - stock):+.1f}"
            rows.append((what, clock, _seconds(stock), _seconds(ours), more))
    cpu = figures["cpu"]
    ours, stock = cpu["TurnSession"], cpu["stock"]
    return table(("wait, s", "time", "stock", "TurnSession", "ms more"), rows) + (
        f"\nA minute of conversation of ten turns takes {1000 * stock:.0f} ms of CPU time on a "
        f"stock session and {1000 * ours:.0f} ms on a TurnSession: {100 * (cpu['ratio'] - 1):+.1f} "
        f"% of the session's own work, {(ours - stock) / 60 * 100:.2f} % of a core.\n"
        f"\n{_begin(figures['begin'])}\n"
    )


def _begin(figures: dict[str, Any]) -> str:
    ms = {name: f"{1000 * seconds:.1f}" for name, seconds in figures["seconds"].items()}
    held = {name: f"{bytes_ / 1024:.0f}" for name, bytes_ in figures["bytes"].items()}
    return (
        f"To make and start a session takes {ms['stock']} ms of CPU time on stock and "
        f"{ms['TurnSession']} ms here, {figures['ratio']:.1f} times as much. A session that has "
        f"started holds {held['stock']} KiB on stock and {held['TurnSession']} KiB here."
    )


def room_table(figures: dict[str, Any]) -> str:
    """Each kind's steps; the last one is where it broke."""
    rows = [
        (
            f"{kind}, {step['rooms']} rooms",
            f"{step['median']:.2f}",
            f"{step['p95']:.2f}",
            f"{step['missing']}",
            f"{step['worker'] * 100:.1f} %",
            f"{step['memory']:.0f}",
            f"{step['machine']:.0f} %",
            step["broken"] or "holds",
        )
        for kind in ("stock", "turn")
        for step in figures.get(kind, [])
    ]
    head = ("", "median s", "p95 s", "missing", "core a room", "MB a job", "machine", "")
    steps = [step for kind in ("stock", "turn") for step in figures.get(kind, [])]
    others = max((step["busy"] for step in steps), default=0.0)
    return table(head, rows) + (
        f"\n{' '.join(_held(figures, kind) for kind in ('stock', 'turn'))}\n"
        f"\nServer, worker and callers on {figures['cores']} cores; 'core a room' is the worker's "
        f"share. Other programs used up to {others:.0f} % of the machine during a step.\n"
    )


def _held(figures: dict[str, Any], kind: str) -> str:
    """How many rooms held, and what came then."""
    steps = figures.get(kind, [])
    rooms = max((step["rooms"] for step in steps if not step["broken"]), default=0)
    broken = steps[-1]["broken"] if steps else ""
    then = f"at {steps[-1]['rooms']} {broken}" if broken else "more were not tried"
    return f"{kind}: {rooms} rooms held, {rooms / figures['cores']:.1f} a core; {then}."


TABLES: dict[str, Callable[[Any], str]] = {
    "engines": _engines,
    "size": _size,
    "scale": _scale,
    "caller": _caller,
}
"""The tables of docs/performance.md."""

_PAGE = """# Performance

`make bench ARGS=docs` measures all of this and writes this page. Each table also has its own
command. The machine was a virtual one with two cores. The times depend on the machine; the ratios
hardly do. "x if/elif" compares with the same state machine, written by hand as a chain of if and
elif: this is the fastest way in Python.

{versions}

## Goals

{goals}
{missed}

## A trigger

`make bench` plays one turn: {length} triggers through the six states. Guards refuse two of them,
and one is not declared in its state. All engines are measured in turn, in many rounds. The ratio to
if/elif is computed in each round, and the table shows medians. The times are CPU time of the
thread. Before it is measured, each engine must pass through the same states and ask for the same
replies. The journal keeps 4096 entries; "timers" means that every state has one. "As in a session"
has the journal, timers and two observers that do nothing.

{engines}
## An instance

`python -m bench size` measures this. What all instances of a flow share is not counted.

{size}
## Many runtimes

`python -m bench scale` runs many runtimes in one thread, with timers and journals of 64 entries.
Events come at fixed moments. A wait is the time from this moment to the effect. The clock is the
CPU time of the thread, plus the time that it would have slept. Python's garbage collector (gc) is
off unless the line says "gc on". A runtime contains no reference cycles, but each full collection
looks at every entry of every journal.

{scale}
## What a caller hears

`python -m bench caller` plays the same conversations on `AgentSession` (stock) and on
`TurnSession`, with scripted user, model and TTS. In virtual time the difference comes only from the
decisions of the flow. In real time it also contains the time of the code, and of other programs on
the machine. On a busy machine waits vary by tens of milliseconds, and smaller differences cannot be
seen.

{caller}"""


def page(figures: dict[str, Any]) -> str:
    """docs/performance.md."""
    from .cycle import CYCLE

    texts = {part: TABLES[part](figures[part]) for part in TABLES}
    what = ((f"{name} {number}",) for name, number in figures["versions"].items())
    texts["versions"] = "\n".join(f"- {line}" for (line,) in what)
    lines = list(goals(figures))
    texts["goals"] = table(("goal", "wanted", "measured", ""), (line[:4] for line in lines))
    missed: dict[str, list[str]] = {}
    for name, _, _, _, why in lines:
        if why:
            missed.setdefault(why, []).append(name)
    whys = [f"- {'; '.join(names)}: {why}." for why, names in missed.items()]
    texts["missed"] = "\n".join(["Why goals were missed:", "", *whys]) if whys else ""
    return _PAGE.format(length=len(CYCLE), **texts)


def _us(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.3f}"
