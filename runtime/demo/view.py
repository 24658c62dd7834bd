"""Shows a running conversation: as a panel on a terminal, otherwise as lines."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from turnfsm.fsm.flow import NEVER
from turnfsm.runtime.turn import TurnRuntime

from .pace import Pace
from .transcript import told

__all__ = ["Lines", "Screen", "View"]

Record = Mapping[str, Any]

_FRAMES = 10  # a second
_SPOKEN = ("user_audio", "agent_audio", "tool")


class View(Protocol):
    """Shows the records of a journal as they are written."""

    def attach(self, turn: TurnRuntime, pace: Pace) -> None:
        """Set the session of the records, before the first one."""

    def show(self, record: Record) -> None:
        """Show one record."""

    async def close(self) -> None:
        """There are no more records."""


class Lines:
    """Prints one line for each relevant record."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._timers: Mapping[str, float] = {}

    def attach(self, turn: TurnRuntime, pace: Pace) -> None:
        self._timers = turn.flow.timers

    def show(self, record: Record) -> None:
        text = _line(record, self._timers)
        if text:
            self._console.out(f"{record['t']:7.2f} s  {text}", highlight=False)

    async def close(self) -> None:
        """All lines were printed."""


class Screen:
    """A panel that is redrawn several times a second."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)
        self._taken: deque[str] = deque(maxlen=6)
        self._refused: deque[str] = deque(maxlen=4)
        self._said: list[tuple[float, str]] = []
        self._entered = 0.0
        self._turn: TurnRuntime | None = None
        self._pace = Pace()
        self._task: asyncio.Task[None] | None = None

    def attach(self, turn: TurnRuntime, pace: Pace) -> None:
        self._turn, self._pace = turn, pace
        self._live.start()
        self._task = asyncio.create_task(self._draw(), name="live view")

    def show(self, record: Record) -> None:
        if record.get("entered"):
            self._entered = record["t"]
        if record.get("note") in _SPOKEN:
            self._said.append((record["data"]["start"], told(record)))
        timers = self._turn.flow.timers if self._turn is not None else {}
        if "trigger" in record and not _idle(record, timers):
            verdicts = self._taken if record["verdict"] == "taken" else self._refused
            verdicts.append(f"{record['t']:6.1f}  {_verdict(record)}")

    async def close(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._live.update(self._panel(), refresh=True)
        self._live.stop()

    async def _draw(self) -> None:
        while True:
            self._live.update(self._panel(), refresh=True)
            await asyncio.sleep(1 / _FRAMES)

    def _panel(self) -> Panel:
        turn = self._turn
        if turn is None:
            return Panel("")
        now = self._pace.now()
        head = Table.grid(padding=(0, 2))
        head.add_row("state", Text(f"{turn.state} for {now - self._entered:.1f} s", "bold"))
        head.add_row("facts", Text(", ".join(turn.facts) or "none", overflow="ellipsis"))
        head.add_row("timers", ", ".join(self._armed(turn, now)) or "none")
        said = [f"{start:6.1f}  {text}" for start, text in sorted(self._said)[-9:]]
        parts = (
            *_block("taken", self._taken, "green"),
            *_block("refused", self._refused, "red"),
            *_block("heard and done", said, ""),
        )
        return Panel(Group(head, *parts), title=f"turnfsm demo  {now:.1f} s", title_align="left")

    def _armed(self, turn: TurnRuntime, now: float) -> Iterator[str]:
        """The pending timers of the current state, with the remaining seconds."""
        for name in turn.flow.states[turn.state].after:
            left = turn.flow.timers[name] - (now - self._entered)
            if 0 < left < NEVER:
                yield f"{name} {left:.1f} s"


def _block(title: str, lines: Iterable[str], style: str) -> Iterator[Text]:
    yield Text(f"\n{title}", "dim")
    yield Text("\n".join(lines), style, overflow="ellipsis", no_wrap=True)


def _line(record: Record, timers: Mapping[str, float]) -> str:
    if record.get("note") in _SPOKEN:
        return told(record)
    if "trigger" not in record or _idle(record, timers):
        return ""
    if record["verdict"] == "refused" or record["entered"]:
        return _verdict(record)
    return ""


def _idle(record: Record, timers: Mapping[str, float]) -> bool:
    """A due timer whose guard does not hold."""
    return record["trigger"] in timers and record["verdict"] == "refused"


def _verdict(record: Record) -> str:
    if record["verdict"] == "refused":
        return f"refused {record['trigger']} in {record['state']}: {record['why']}"
    if not record["entered"]:
        does = f" ({', '.join(record['actions'])})" if record["actions"] else ""
        return f"taken   {record['trigger']}{does}"
    return f"state   {record['dest']} (from {record['state']}, {record['trigger']})"
