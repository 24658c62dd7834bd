"""Our engines, from the bare machine to the runtime with timers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from turnfsm.fsm import Machine, Verdict, load_flow
from turnfsm.runtime import Event, TurnRuntime

from .cycle import FLOW, Engine, Floor

__all__ = ["OURS", "SESSION", "Host", "new_loop"]

SESSION = "TurnRuntime.post, as in a session"
"""With the journal, timers and the observer that every session has."""

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


def _runtime() -> Engine:
    host = Host()
    turn = TurnRuntime(FLOW, host)
    return Engine(turn.post, lambda: turn.state, lambda: host.replies)


def _hear(seq: int, verdict: Verdict) -> None:
    """An observer that does nothing, so that only the runtime is measured."""


def _session() -> Engine:
    """The post of a session: timers, the journal, and its observer."""
    host = Host()
    turn = TurnRuntime(TIMED, host)
    turn.observe(_hear)
    loop = new_loop("asyncio")
    turn.start(loop)
    return Engine(turn.post, lambda: turn.state, lambda: host.replies, close=loop.close)


def _timed(kind: str) -> Engine:
    host = Host()
    turn = TurnRuntime(TIMED, host)
    loop = new_loop(kind)
    turn.start(loop)
    post = turn.post
    return Engine(post, lambda: turn.state, lambda: host.replies, close=loop.close)


OURS: dict[str, Callable[[], Engine]] = {
    "if/elif": _floor,
    "Machine.step": _machine,
    "TurnRuntime.post, journal": _runtime,
    "TurnRuntime.post, journal, timers": lambda: _timed("asyncio"),
    "TurnRuntime.post, journal, timers, uvloop": lambda: _timed("uvloop"),
    SESSION: _session,
}
