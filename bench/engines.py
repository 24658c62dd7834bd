"""Our engines, from the bare machine to the runtime with timers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnfsm.fsm import Machine, load_flow
from turnfsm.runtime import Event, TurnRuntime

from .cycle import FLOW, Engine, Floor

__all__ = ["OURS", "Host", "new_loop"]

TIMED = load_flow(Path(__file__).with_name("timed.yaml"))


class Host:
    """Carries out the one action of the cycle."""

    __slots__ = ("replies",)

    def __init__(self) -> None:
        self.replies = 0

    def reply(self, event: Event) -> None:
        self.replies += 1


def new_loop(kind: str) -> asyncio.AbstractEventLoop:
    """A loop of asyncio's own or of uvloop."""
    if kind == "uvloop":
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return loop
    return asyncio.SelectorEventLoop()


def _floor() -> Engine:
    floor = Floor()
    return Engine(floor.fire, lambda: floor.state, lambda: floor.replies)


def _machine() -> Engine:
    machine = Machine(FLOW)
    return Engine(machine.step, lambda: machine.state)


def _pump() -> Engine:
    host = Host()
    turn = TurnRuntime(FLOW, host)
    return Engine(turn._pump.post, lambda: turn.state, lambda: host.replies)


def _runtime(**options: Any) -> Engine:
    host = Host()
    turn = TurnRuntime(FLOW, host, **options)
    return Engine(turn.post, lambda: turn.state, lambda: host.replies)


def _observed() -> Engine:
    host = Host()
    turn = TurnRuntime(FLOW, host)
    turn.observe(lambda seq, verdict: None)
    return Engine(turn._pump.post, lambda: turn.state, lambda: host.replies)


def _timed(kind: str) -> Engine:
    host = Host()
    turn = TurnRuntime(TIMED, host)
    loop = new_loop(kind)
    turn.start(loop)
    post = turn._pump.post
    return Engine(post, lambda: turn.state, lambda: host.replies, close=loop.close)


OURS: dict[str, Callable[[], Engine]] = {
    "if/elif, the floor": _floor,
    "Machine.step": _machine,
    "EventPump.post, journal": _pump,
    "EventPump.post, journal, timers": lambda: _timed("asyncio"),
    "EventPump.post, journal, timers, uvloop": lambda: _timed("uvloop"),
    "EventPump.post, journal, an observer": _observed,
    "TurnRuntime.post, journal": _runtime,
}
