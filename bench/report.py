"""Figures as tables: on the terminal, and in docs/performance.md."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .goals import goals

__all__ = ["CALLS", "TABLES", "page", "room_table", "versions", "with_session"]

CALLS = 2000
"""The number of earlier calls, each in its own exchange."""

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
    """The versions of Python and of what was measured, without a date or the name of the
    machine."""
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Markdown with aligned columns, so that a terminal can show it."""
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


def room_table(figures: dict[str, Any]) -> str:
    """The steps of each kind of session. The last one is overloaded."""
    rows = [
        (
            f"{kind}, {step['rooms']} {'room' if step['rooms'] == 1 else 'rooms'}",
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
    """The number of rooms that a kind can serve, and what fails above it."""
    steps = figures.get(kind, [])
    rooms = max((step["rooms"] for step in steps if not step["broken"]), default=0)
    broken = steps[-1]["broken"] if steps else ""
    then = f"with {steps[-1]['rooms']}, {broken}" if broken else "more were not tried"
    return f"{kind}: {rooms} rooms, {rooms / figures['cores']:.1f} a core; {then}."


TABLES: dict[str, Callable[[Any], str]] = {
    "engines": _engines,
    "size": _size,
    "scale": _scale,
    "caller": _caller,
    "session": _session,
}
"""The tables of docs/performance.md."""

_PAGE = """# Performance

`make bench ARGS=docs` measures all of this and writes this page. Each table also has its own
command. The machine was virtual, with two cores. The times depend on the machine; the ratios hardly
do. "x if/elif" compares with the same state machine as a hand-written chain of if and elif: the
fastest way in Python.

{versions}

## Goals

{goals}
{missed}

## A trigger

`make bench` plays one turn: {length} triggers through the six states. Guards refuse two of them,
and one is not declared in its state. In each of many rounds all engines are measured one after the
other, and their ratios to if/elif are computed; the table shows medians. The times are CPU time of
the thread. Before the measurement each engine must pass through the same states and request the
same replies. The journal has at most 4096 entries; "timers" means that every state has one. "As in
a session" has the journal, timers and two observers that do nothing.

{engines}
## An instance

`python -m bench size` measures this. Data that all instances of a flow share is not counted.

{size}
## Many runtimes

`python -m bench scale` runs many runtimes in one thread, with timers and journals of 64 entries.
Events come at fixed times. The latency is the time from then to the effect. The clock is the CPU
time of the thread, plus the time that it would have slept. Python's garbage collector (gc) is off
unless the row says "gc on". A runtime contains no reference cycles, but each full collection
traverses every entry of every journal.

{scale}
## What a caller notices

`python -m bench caller` plays the same conversations on `AgentSession` (stock) and on
`TurnSession`, with scripted user, model and TTS. In virtual time the only difference is in the
decisions of the flow. Real time includes the run time of the code, and of other programs on the
machine. On a busy machine it varies by tens of milliseconds, which hides smaller differences.

{caller}"""

_SESSION = """
## A session

`python -m bench session --docs` measures this and writes this section. It alternates between
`AgentSession` (stock) and `TurnSession`, in virtual time, and shows medians of the CPU time of the
process, and of the ratios in each round. Models that run elsewhere are not included. The user's
microphone gives 20 frames a second. In the first row the user, the VAD and all models are scripted,
so nearly all of the time is that of the session itself. In the second row the user is a recording,
and the VAD is LiveKit's own (Silero). The last row is the longest time for which the event loop is
blocked between the result of a tool and the end of the reply to it, in a conversation with
{calls:,} earlier calls, without the model's own work.

{session}
The goal was 2 % more for a minute of conversation with a real VAD. No single part of the difference
is large. In a profile of the scripted minute, a fifth is work for each frame of audio, a quarter is
the triggers of the two flows with their host facts, a seventh is the agenda, and the rest is some
forty reports from LiveKit's methods, none of which takes more than a tenth.
"""


def with_session(text: str, figures: dict[str, Any]) -> str:
    """The page with these figures in its last section."""
    head, heading, _ = _SESSION.lstrip().partition("\n")
    before = text.partition(f"\n{head}{heading}")[0]
    return before + _SESSION.format(session=_session(figures), calls=CALLS)


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
    session = texts.pop("session")
    whole = _PAGE.format(length=len(CYCLE), **texts)
    return whole + _SESSION.format(session=session, calls=CALLS)


def _us(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.3f}"
