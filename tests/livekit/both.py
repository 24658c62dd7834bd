"""What the tests that are played on both sessions share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from livekit.agents import Agent, AgentSession
from scripted_tool import tool

from turnfsm.fsm import parse_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

__all__ = [
    "Session",
    "asked_for_weather",
    "conversation",
    "conversation_is_given",
    "hearing_session",
    "lines",
    "listening",
    "look_up",
]

Session = type[AgentSession[Any]]

_FLOW, _ = parse_flow(
    "{flow: hearing, extends: turn, discard_audio_if_uninterruptible: false}", "hearing.yaml"
)

hearing_session: Any = partial(TurnSession, flow=_FLOW, proof="off")
"""A session whose user is heard while the agent cannot be interrupted."""


conversation_is_given = hasattr(Agent, "update_chat_ctx")
"""The application gives the conversation to the next agent. Since 2.0 LiveKit does that."""


def conversation(session: AgentSession[Any]) -> dict[str, Any]:
    """What gives the next agent the conversation."""
    if not conversation_is_given:
        return {}
    return {"chat_ctx": session.current_agent.chat_ctx.copy()}


look_up = tool("look_up", "rain", seconds=1.0)


def asked_for_weather(session_class: Any, **parts: Any) -> Stage:
    """The user asks at 1 s, a tool looks it up, the agent says that it rains."""
    model = ScriptedLLM(
        {"weather": Reply("let me see", calls=Call("look_up")), "thanks": "You are welcome."},
        {"look_up": "It rains."},
    )
    parts = {"user": ScriptedUser().says("weather please", at=1.0), "tools": [look_up]} | parts
    return Stage(session_class, llm=model, **parts)


def listening(session_class: Session, *names: str) -> tuple[Callable[..., Any], list[Any]]:
    """A maker of sessions, and the events of these names that they emit."""
    heard: list[Any] = []

    def make(**options: Any) -> AgentSession[Any]:
        session = session_class(**options)
        for name in names:
            session.on(name, heard.append)  # type: ignore[arg-type]
        return session

    return make, heard


def lines(outcome: Outcome) -> list[str]:
    """What was said, called and returned, in the order of the conversation."""
    return [line for line in outcome.context if not line.startswith("system")]
