"""CPU time and memory to create and start a session, stock and TurnSession."""

from __future__ import annotations

import asyncio
import gc
import logging
import statistics
import time
import tracemalloc
from collections.abc import Mapping
from typing import Any

from livekit.agents import Agent, AgentSession

from turnfsm.runtime.testing.livekit import (
    ScriptedLLM,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
)

__all__ = ["begin"]

KEPT = 20
"""The sessions that are open at the same time when memory is measured."""


def begin(sessions: Mapping[str, type[AgentSession[Any]]], rounds: int) -> dict[str, Any]:
    """Seconds of CPU time until a session has started, and its memory in bytes.

    Args:
        sessions: The classes by their names; the ratio is that of the last to the first.
        rounds: How many of each are started, in turn.

    Returns:
        ``seconds`` and ``bytes`` by name, medians, and ``ratio``, the median of the ratios of the
        seconds inside the rounds.
    """
    logging.disable(logging.CRITICAL)
    try:
        return asyncio.run(_measured(sessions, rounds))
    finally:
        logging.disable(logging.NOTSET)


async def _measured(sessions: Mapping[str, type[AgentSession[Any]]], rounds: int) -> dict[str, Any]:
    spent: dict[str, list[float]] = {name: [] for name in sessions}
    closing: list[asyncio.Task[None]] = []  # it takes LiveKit two seconds, without work
    for turn in range(rounds + 3):  # the first ones warm up
        for name, kind in sessions.items():
            models, agent = _models(), Agent(instructions="Help.")
            gc.collect()
            begun = time.thread_time()
            session = kind(**models)
            await session.start(agent)
            if turn >= 3:
                spent[name].append(time.thread_time() - begun)
            closing.append(asyncio.create_task(session.aclose()))
            await asyncio.sleep(0.01)
    await asyncio.gather(*closing)
    first, *_, last = spent.values()
    return {
        "seconds": {name: statistics.median(own) for name, own in spent.items()},
        "bytes": {name: await _held(kind) for name, kind in sessions.items()},
        "ratio": statistics.median(b / a for a, b in zip(first, last, strict=True)),
    }


async def _held(kind: type[AgentSession[Any]]) -> float:
    """The memory of a started session in bytes, without its models and its agent."""
    given = [(_models(), Agent(instructions="Help.")) for _ in range(KEPT)]
    gc.collect()
    tracemalloc.start()
    sessions = [kind(**models) for models, _ in given]
    for session, (_, agent) in zip(sessions, given, strict=True):
        await session.start(agent)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    await asyncio.gather(*(session.aclose() for session in sessions))
    return held / KEPT


def _models() -> dict[str, Any]:
    user = ScriptedUser()
    heard = {"stt": ScriptedSTT(user), "vad": ScriptedVAD()}
    return {**heard, "llm": ScriptedLLM(), "tts": ScriptedTTS()}
