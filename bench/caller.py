"""What a caller notices, on a stock AgentSession and on a TurnSession in the same run.

The session, the agent and its tool are real; the user, the model and the voice are scripted.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import yaml
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.compare.livekit.conversation import conversation_of
from turnfsm.runtime.testing.livekit import Outcome, Stage

__all__ = ["SESSIONS", "caller", "sides"]

SESSIONS: dict[str, type[AgentSession[Any]]] = {"stock": AgentSession, "TurnSession": TurnSession}


def sides(rounds: int, measure: Callable[[type[AgentSession[Any]]], float]) -> dict[str, float]:
    """What is measured on each session, in turn: medians, and the median of the ratios in the
    rounds."""
    found: dict[str, list[float]] = {name: [] for name in SESSIONS}
    logging.disable(logging.CRITICAL)
    try:
        for number in range(rounds + 1):  # the first one warms up
            for name, session in SESSIONS.items():
                value = measure(session)
                if number:
                    found[name].append(value)
    finally:
        logging.disable(logging.NOTSET)
    stock, ours = found.values()
    ratio = statistics.median(b / a for a, b in zip(stock, ours, strict=True))
    return {**{name: statistics.median(own) for name, own in found.items()}, "ratio": ratio}


@attrs.frozen
class Wait:
    """Something that a caller waits for: until the agent is heard, or until it is silent."""

    what: str
    seconds: float
    build: Callable[[type[AgentSession[Any]]], Stage]
    heard_after: float | None = None
    silent_after: float | None = None
    often: int = 1

    def of(self, outcome: Outcome) -> float | None:
        """How long it took, in seconds."""
        if self.heard_after is not None:
            heard = outcome.heard_after(self.heard_after)
            return heard[0].start - self.heard_after if heard else None
        at = self.silent_after or 0.0
        ends = (h.end - at for h in outcome.heard if h.start < at < h.end)
        return next(ends, None)


def _waits() -> Iterator[Wait]:
    waits = yaml.safe_load(Path(__file__).with_name("caller.yaml").read_text(encoding="utf-8"))
    for what, entry in waits.items():
        build = conversation_of(entry)
        yield Wait(what, build=build, **entry)


WAITS = tuple(_waits())


def caller(virtual: int = 3, real: int = 5) -> dict[str, dict[str, dict[str, float | None]]]:
    """Seconds of each wait, medians: in virtual time, and in real time unless `real` is 0."""
    logging.disable(logging.CRITICAL)
    try:
        return {
            wait.what: {
                "virtual": _medians(wait, virtual, _play_virtual),
                **({"real": _medians(wait, real * wait.often, _play_real)} if real else {}),
            }
            for wait in WAITS
        }
    finally:
        logging.disable(logging.NOTSET)


def _medians(
    wait: Wait, rounds: int, play: Callable[[Stage, float], Outcome]
) -> dict[str, float | None]:
    waits: dict[str, list[float | None]] = {name: [] for name in SESSIONS}
    for _ in range(rounds):
        for name, session in SESSIONS.items():
            waits[name].append(wait.of(play(wait.build(session), wait.seconds)))
    # On a busy machine a round may miss its event, because real time has passed it.
    heard = {name: [wait for wait in own if wait is not None] for name, own in waits.items()}
    return {name: statistics.median(own) if own else None for name, own in heard.items()}


def _play_virtual(stage: Stage, seconds: float) -> Outcome:
    return stage.run(seconds)


def _play_real(stage: Stage, seconds: float) -> Outcome:
    return asyncio.run(stage.play(seconds))
