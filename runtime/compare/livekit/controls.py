"""Controls with agents of their own: they go right on `AgentSession`, too."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import Agent, llm

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import Outcome, ScriptedLLM, ScriptedUser, Stage

from .checks import hears, keeps_in_history

__all__ = ["CONTROLS"]

FIRST, SECOND = "what is the weather", "and the traffic please"
MODEL = {"traffic": "The roads are free.", "weather": "It rains."}


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
    problems = keeps_in_history(outcome, FIRST, SECOND)
    answers = [h for h in outcome.heard if "roads" in h.text]
    if len(answers) != 1:
        problems.append(f"the second turn is answered {len(answers)} times")
    return problems + hears(outcome, "The roads are free.", 13.5, 4.7, "the user's words end")


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
    return keeps_in_history(outcome, FIRST) + hears(
        outcome, "It rains.", 6.0, 1.2, "the user's words end"
    )


CONTROLS: Conversations = {
    "T1": (_slow_hook, _verdict_slow_hook),
    "T3": (_at_start, _verdict_at_start),
}
