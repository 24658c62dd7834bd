"""How many rooms this machine can serve, with server, workers and callers on it, and no speech
models. Rooms are added until an answer is late or missing, or a room gets no agent.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import psutil

from room.caller import Caller
from room.machine import Others, cpu_seconds
from room.server import RoomServer, here_or_elsewhere
from room.worker import ROOT, Worker, working
from turnfsm.runtime.demo.speech import PCM, RATE

__all__ = ["KINDS", "broken", "room_figures"]

KINDS = ("stock", "turn")
_TURNS = 4
_APART = 5.0  # seconds from one question of a caller to the next
_LATE = 1.0  # seconds by which the p95 may exceed that of the first step
_COMES = 60.0  # seconds within which an agent must join


def room_figures(steps: Sequence[int], seconds: float) -> dict[str, Any]:
    """For each kind of session the steps until the machine is overloaded, and the reason. The kinds
    alternate.

    Args:
        steps: Numbers of rooms.
        seconds: After so long no further step begins.
    """
    end = time.monotonic() + seconds
    found: dict[str, Any] = {"cores": psutil.cpu_count(), **{kind: [] for kind in KINDS}}
    for rooms in steps:
        for kind in KINDS:
            if (found[kind] and found[kind][-1]["broken"]) or time.monotonic() > end:
                continue
            step = _step(kind, rooms)
            found[kind].append(step)
            step["broken"] = broken(step, found[kind][0])
            print(f"{kind} {step}", file=sys.stderr)
    return found


def broken(step: dict[str, Any], first: dict[str, Any]) -> str:
    """Why the machine is overloaded at a step, compared with the first one; empty if it is not."""
    if step["agents"] < step["rooms"]:
        return f"{step['rooms'] - step['agents']} rooms got no agent in {_COMES:g} s"
    if step["missing"]:
        return f"{step['missing']} of {step['rooms'] * _TURNS} questions were not answered"
    if step["p95"] > first["p95"] + _LATE:
        return f"the p95 of the answers is {step['p95'] - first['p95']:.1f} s later than at first"
    return ""


def _step(kind: str, rooms: int) -> dict[str, Any]:
    """Serve so many rooms at once, on a new server and worker."""
    with here_or_elsewhere() as server, working(server, ROOT / "room" / "load.py") as worker:
        others = Others()
        step = asyncio.run(_rooms(server, worker, kind, rooms))
        return {**step, "busy": 100 * others.share()}


async def _rooms(server: RoomServer, worker: Worker, kind: str, rooms: int) -> dict[str, Any]:
    callers = [Caller(server, f"{kind}-{uuid.uuid4().hex[:8]}") for _ in range(rooms)]
    here: list[Caller] = []
    process = psutil.Process(worker.process.pid)
    try:
        for caller in callers:
            await caller.enter()
        came = await asyncio.gather(
            *(caller.agent_comes(_COMES) for caller in callers), return_exceptions=True
        )
        here = [c for c, error in zip(callers, came, strict=True) if error is None]
        psutil.cpu_percent()
        before = cpu_seconds(process)
        waits = await asyncio.gather(
            *(_ask(caller, _APART * number / len(here)) for number, caller in enumerate(here))
        )
        spent = cpu_seconds(process) - before
        memory = _memory(process)
    finally:
        await asyncio.gather(*(caller.leave() for caller in callers), return_exceptions=True)
    known = sorted(wait for own in waits for wait in own if wait is not None)
    return {
        "rooms": rooms,
        "agents": len(here),
        "missing": sum(wait is None for own in waits for wait in own),
        "median": statistics.median(known) if known else 0.0,
        "p95": known[min(len(known) - 1, round(0.95 * len(known)))] if known else 0.0,
        "worker": spent / (_TURNS * _APART) / max(1, len(here)),
        "memory": memory,
        "machine": psutil.cpu_percent(),
    }


async def _ask(caller: Caller, at: float) -> list[float | None]:
    """Ask every few seconds. Returns the latency of each answer; None if there was none."""
    await caller.rest(at)
    tone, waits = _tone(0.8), list[float | None]()
    for _ in range(_TURNS):
        next_one = caller.pace.now() + _APART
        asked = await caller.say(tone)
        try:
            await caller.until(lambda asked=asked: caller.ear.began > asked, _APART - 0.9)
            waits.append(caller.ear.began - asked)
        except TimeoutError:
            waits.append(None)
        await caller.rest(max(0.0, next_one - caller.pace.now()))
    return waits


def _tone(seconds: float) -> PCM:
    at = np.arange(round(seconds * RATE)) / RATE
    return (8000 * np.sin(2 * np.pi * 300 * at)).astype(np.int16)


def _memory(worker: psutil.Process) -> float:
    """The private memory of a job in MB: the median of the processes that serve rooms."""
    own = []
    for process in worker.children(recursive=True):
        try:
            own.append(process.memory_full_info().uss / 1e6)
        except psutil.Error:
            continue
    return statistics.median(own) if own else 0.0
