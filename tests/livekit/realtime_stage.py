"""A conversation with a realtime model, and an agent that says something as it enters."""

from __future__ import annotations

from typing import Any

from livekit.agents import Agent

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

__all__ = ["Says", "realtime"]


def realtime(
    user: ScriptedUser,
    answers: ScriptedLLM,
    *tools: Any,
    detects: bool = True,
    auto: bool = False,
    detection: str = "vad",
    session: Any = TurnSession,
    **parts: Any,
) -> Stage:
    """A stage whose model answers by this script.

    Args:
        user: The user.
        answers: The script.
        tools: The tools of the agent.
        detects: The model detects turns.
        auto: The model replies to results by itself.
        detection: What ends a turn if the model does not.
        session: The class of the session.
        parts: More arguments of `Stage`.
    """
    voice = parts.pop("tts", None) or ScriptedTTS()
    model = ScriptedRealtime(user, answers, voice, turn_detection=detects, auto_tool_reply=auto)
    turns = {"turn_detection": "realtime_llm" if detects else detection}
    settings = {"turn_handling": turns, **({"tools": [*tools]} if tools else {}), **parts}
    return Stage(session, user=user, llm=model, tts=voice, **settings)


class Says(Agent):
    """An agent that says a text as it enters, and waits until it was heard if `waits`."""

    def __init__(self, text: str, *, waits: bool = False, **given: Any) -> None:
        super().__init__(instructions="Go on.", **given)
        self._text, self._waits = text, waits

    async def on_enter(self) -> None:
        said = self.session.say(self._text)
        if self._waits:
            await said
