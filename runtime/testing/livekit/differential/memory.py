"""How many objects a session keeps of each turn."""

from __future__ import annotations

import gc
from typing import Any

from turnfsm.runtime.testing.livekit.scripted_llm import Reply, Request, ScriptedLLM
from turnfsm.runtime.testing.livekit.stage import Stage
from turnfsm.runtime.testing.livekit.user import ScriptedUser

__all__ = ["objects_per_turn"]

TURN = 2.5
"""Seconds of a turn: the user says two words, the agent one, and every other time is cut off."""


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
        user.says("well then", at=1.0 + turn * TURN, duration=0.6, stt_delay=0.1)
    stage = Stage(session_class, user=user, llm=ScriptedLLM(otherwise=_answer))
    counts: list[int] = []

    def count(stage: Stage) -> None:
        stage.forget()
        gc.collect()
        counts.append(len(gc.get_objects()))

    for turn in (warm, warm + turns):
        stage.at(0.9 + turn * TURN, count)
    stage.run(1.0 + (warm + turns) * TURN)
    return (counts[1] - counts[0]) / turns


def _answer(request: Request) -> Reply:
    return Reply("one two three four five six" if len(request.shown) % 4 else "yes")
