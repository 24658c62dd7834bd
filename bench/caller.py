"""What a caller notices, on a stock AgentSession and on a TurnSession in the same run.

The session, the agent and its tool are real; the user, the model and the voice are scripted.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
from collections.abc import Callable
from typing import Any

import attrs
from livekit.agents import AgentSession, function_tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

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


LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen."


@attrs.frozen
class Wait:
    """Something that a caller waits for."""

    what: str
    seconds: float
    build: Callable[[type[AgentSession[Any]]], Stage]
    wait: Callable[[Outcome], float | None]


def _answer(session: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("hello there", at=0.5)
    return Stage(session, user=user, llm=ScriptedLLM({"hello": "Good morning to you."}))


def _interrupted(session: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("count please", at=0.5).says("no stop it", at=3.0, duration=1.5)
    return Stage(session, user=user, llm=ScriptedLLM({"count": LONG, "stop": "As you like."}))


def _while_a_tool_runs(session: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def look_up(query: str) -> str:
        """Look something up."""
        await asyncio.sleep(12.0)
        return "found"

    user = ScriptedUser().says("look it up", at=0.5).says("one more thing", at=4.0)
    model = ScriptedLLM(
        {
            "look": Reply("", calls=Call("look_up", {"query": "it"})),
            "one more": "Yes, what is it?",
        }
    )
    return Stage(session, user=user, llm=model, tools=[look_up])


def _first_after(at: float) -> Callable[[Outcome], float | None]:
    def wait(outcome: Outcome) -> float | None:
        heard = outcome.heard_after(at)
        return heard[0].start - at if heard else None

    return wait


def _silence(outcome: Outcome) -> float | None:
    heard = next((h for h in outcome.heard if h.start < 3.0 < h.end), None)
    return heard.end - 3.0 if heard else None


WAITS = (
    Wait("end of speech to first audio", 3.5, _answer, _first_after(1.1)),
    Wait("interruption to silence", 6.5, _interrupted, _silence),
    Wait(
        "interruption to next reply while a tool runs", 14.0, _while_a_tool_runs, _first_after(4.9)
    ),
)


def caller(virtual: int = 3, real: int = 5) -> dict[str, dict[str, dict[str, float | None]]]:
    """Seconds of each wait, medians: in virtual time, and in real time unless `real` is 0.

    The overhead of the first wait is a goal. Real time varies by more than this goal, so this wait
    is measured three times as often.
    """
    logging.disable(logging.CRITICAL)
    try:
        return {
            wait.what: {
                "virtual": _medians(wait, virtual, _play_virtual),
                **({"real": _medians(wait, real * often, _play_real)} if real else {}),
            }
            for wait, often in zip(WAITS, (3, 1, 1), strict=True)
        }
    finally:
        logging.disable(logging.NOTSET)


def _medians(
    wait: Wait, rounds: int, play: Callable[[Stage, float], Outcome]
) -> dict[str, float | None]:
    waits: dict[str, list[float | None]] = {name: [] for name in SESSIONS}
    for _ in range(rounds):
        for name, session in SESSIONS.items():
            waits[name].append(wait.wait(play(wait.build(session), wait.seconds)))
    # On a busy machine a round may miss its event, because real time has passed it.
    heard = {name: [wait for wait in own if wait is not None] for name, own in waits.items()}
    return {name: statistics.median(own) if own else None for name, own in heard.items()}


def _play_virtual(stage: Stage, seconds: float) -> Outcome:
    return stage.run(seconds)


def _play_real(stage: Stage, seconds: float) -> Outcome:
    return asyncio.run(stage.play(seconds))
