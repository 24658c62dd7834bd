"""User turns that meet a slow hook, silence, the start of a session or its end."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import Agent, llm

from turnfsm.runtime.compare.scenario import Scenario
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import Outcome, ScriptedLLM, ScriptedUser, Stage

from .checks import late

__all__ = ["CONTROL_TURNS"]

FIRST, SECOND = "what is the weather", "and the traffic please"
MODEL = {"traffic": "The roads are free.", "weather": "It rains."}


def _in_history(outcome: Outcome, *words: str) -> list[str]:
    """Turns that the session's history does not hold."""
    lines = [
        item.text_content or ""
        for item in outcome.history.items
        if item.type == "message" and item.role == "user"
    ]
    return [
        f"what the user said ({said!r}) is in no history"
        for said in words
        if not any(said in line for line in lines)
    ]


class _Slow(Agent):
    """Looks something up before each reply."""

    def __init__(self, seconds: float) -> None:
        super().__init__(instructions="Help.")
        self._seconds = seconds

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        await asyncio.sleep(self._seconds)


def _slow_hook(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says(FIRST, at=1.0).says(SECOND, at=3.5)
    return Stage(session_class, user=user, llm=ScriptedLLM(MODEL), agent=lambda: _Slow(5.0))


def _verdict_slow_hook(outcome: Outcome) -> list[str]:
    problems = _in_history(outcome, FIRST, SECOND)
    answers = [h for h in outcome.heard if "roads" in h.text]
    if len(answers) != 1:
        problems.append(f"the second turn is answered {len(answers)} times")
    return problems + late(outcome, "The roads are free.", 13.5, 4.7, "the user's words end")


def _empty(session_class: type[AgentSession[Any]]) -> Stage:
    def commit(stage: Stage) -> None:
        stage.session.commit_user_turn()

    user = ScriptedUser().makes_noise(at=1.0, duration=0.8).says(FIRST, at=10.0)
    stage = Stage(
        session_class,
        user=user,
        llm=ScriptedLLM(MODEL),
        turn_handling={"turn_detection": "manual"},
    )
    return stage.at(2.0, commit).at(5.0, commit).at(11.5, commit)


def _verdict_empty(outcome: Outcome) -> list[str]:
    problems = late(outcome, "It rains.", 13.0, 11.5, "the turn is committed")
    asked = [f"{request.at:.2f} s" for request in outcome.requests if FIRST in request.prompt]
    if len(asked) != 1:
        problems.append(f"the model is asked about one turn at {', '.join(asked)}")
    return problems + _in_history(outcome, FIRST)


class _Greeter(Agent):
    """Takes its time to enter, then greets."""

    def __init__(self) -> None:
        super().__init__(instructions="Greet.")

    async def on_enter(self) -> None:
        await asyncio.sleep(3.0)
        await self.session.say("Good morning.")


def _at_start(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says(FIRST, at=0.0)
    return Stage(session_class, user=user, llm=ScriptedLLM(MODEL), agent=_Greeter)


def _verdict_at_start(outcome: Outcome) -> list[str]:
    return _in_history(outcome, FIRST) + late(
        outcome, "It rains.", 6.0, 1.2, "the user's words end"
    )


def _at_close(session_class: type[AgentSession[Any]]) -> Stage:
    async def close(stage: Stage) -> None:
        await stage.session.aclose()

    user = ScriptedUser().says(FIRST, at=1.0)
    return Stage(session_class, user=user, llm=ScriptedLLM(MODEL)).at(2.6, close)


def _verdict_at_close(outcome: Outcome) -> list[str]:
    return _in_history(outcome, FIRST) + [f"logged at {t:.2f} s: {e}" for t, e in outcome.errors]


T1 = Scenario(
    "T1",
    "a second turn is committed while the first is in `on_user_turn_completed`",
    25.0,
    _slow_hook,
    _verdict_slow_hook,
    control=True,
)
T2 = Scenario("T2", "turns without words are committed", 20.0, _empty, _verdict_empty, control=True)
T3 = Scenario(
    "T3", "the user speaks while `on_enter` runs", 15.0, _at_start, _verdict_at_start, control=True
)
T4 = Scenario(
    "T4",
    "the session closes before the turn is committed",
    8.0,
    _at_close,
    _verdict_at_close,
    control=True,
)

CONTROL_TURNS = (T1, T2, T3, T4)
