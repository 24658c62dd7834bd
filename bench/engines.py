"""The engines: ours, from the bare machine to the runtime with timers, and `transitions`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnfsm import Event, TurnRuntime
from turnfsm.fsm import Machine, Verdict, load_flow
from turnfsm.fsm.interop.machine_out import to_transitions

from .cycle import FLOW, Engine, Floor

__all__ = ["ENGINES", "SESSION"]

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
    return _on_loop(turn, host)


def _timed() -> Engine:
    return _on_loop(TurnRuntime(TIMED, host := Host()), host)


def _on_loop(turn: TurnRuntime, host: Host) -> Engine:
    loop = asyncio.SelectorEventLoop()
    turn.start(loop)
    return Engine(turn.post, lambda: turn.state, lambda: host.replies, close=loop.close)


def _transitions() -> Engine:
    """The flow as `turnfsm export` writes it for `transitions`."""
    model: Any = to_transitions(FLOW).model
    return Engine(model.trigger, lambda: model.state, lambda: len(model.done))


ENGINES: dict[str, Callable[[], Engine]] = {
    "if/elif": _floor,
    "Machine.step": _machine,
    "TurnRuntime.post, journal": _runtime,
    "TurnRuntime.post, journal, timers": _timed,
    SESSION: _session,
    "transitions, the exported flow": _transitions,
}
