"""The user goes on while the agent's hook for their last turn still runs."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import Agent, llm

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedUser, Stage


class Slow(Agent):
    """An agent whose hook takes long."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        await asyncio.sleep(1.5)


def test_a_turn_replaces_the_reply_to_the_one_before_though_nothing_can_be_interrupted() -> None:
    """LiveKit interrupts the reply that has not begun, which raises if interruptions are disabled;
    then the next turn raises, too."""
    user = ScriptedUser().says("one", at=0.5).says("two", at=1.6).says("three", at=8.0)
    handling: Any = {
        "interruption": {"enabled": False},
        "preemptive_generation": {"enabled": False},
    }
    model = ScriptedLLM({"three": "Third.", "two": "Second.", "one": "First."})
    stage = Stage(TurnSession, user=user, llm=model, agent=Slow, turn_handling=handling)
    outcome = stage.run(16.0)
    assert outcome.errors == [], outcome.timeline()
    said = [item.text_content for item in outcome.history.items if item.type == "message"]
    assert said == ["one", "two", "Second.", "three", "Third."]
