"""Counts the objects that a session keeps for each turn."""

from __future__ import annotations

import asyncio
import gc
import re
import typing
from typing import Any

from livekit.agents import function_tool

from turnfsm.runtime.testing.livekit.scripted_llm import Call, Reply, Request, ScriptedLLM
from turnfsm.runtime.testing.livekit.stage import Stage
from turnfsm.runtime.testing.livekit.user import ScriptedUser

__all__ = ["objects_per_turn"]

TURN = 2.5
"""Seconds of a turn: the user says two words, the agent six and is cut off, or one; or a tool is
called and told of. One call in two is cut off, too."""


def objects_per_turn(session_class: Any, turns: int = 40, warm: int = 15) -> float:
    """Objects that are there after a turn and were not there before it, on average.

    What the stage has observed is forgotten before they are counted.

    Args:
        session_class: `AgentSession`, `TurnSession` or another.
        turns: How many turns are counted.
        warm: How many go before, until what is made once has been made.
    """
    user = ScriptedUser()
    for turn in range(warm + turns):
        user.says(f"number {turn}", at=1.0 + turn * TURN, duration=0.6, stt_delay=0.1)
    tools = [function_tool(_look_up)]
    # It does not look at what it is shown: to format that takes most of the time of a long session
    model = ScriptedLLM(otherwise=_answer, believes=False)
    stage = Stage(session_class, user=user, llm=model, tools=tools)
    counts: list[int] = []

    def count(stage: Stage) -> None:
        stage.forget()
        for clear in typing._cleanups:  # type: ignore[attr-defined]
            clear()  # LiveKit makes a class for each reply; `typing` keeps the last 128 of them
        gc.collect()
        counts.append(len(gc.get_objects()))

    for turn in (warm, warm + turns):
        stage.at(0.9 + turn * TURN, count)
    stage.run(1.0 + (warm + turns) * TURN)
    return (counts[1] - counts[0]) / turns


def _answer(request: Request) -> Reply:
    number = re.search(r"^user: .*number (\d+)$", request.prompt)
    if number is None:
        return Reply("it is there")
    turn = int(number[1])
    if turn % 3 == 0:
        return Reply(calls=Call("look_up", {"turn": turn}))
    return Reply("one two three four five six" if turn % 3 == 1 else "yes")


async def _look_up(turn: int) -> dict[str, int]:
    """Look it up."""
    await asyncio.sleep(TURN if turn % 2 else 0.1)
    return {"turn": turn}
