"""The application interrupts while a tool runs, as a stop button does."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import AgentSession
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

PREAMBLE = "One moment please."
RESULT = "It is twelve degrees."
SESSIONS = pytest.mark.parametrize("session", [AgentSession, TurnSession])
look_up = tool("look_up", "twelve degrees", seconds=3.0)


def _play(session: Any, stopped_at: float, preamble: str, *, asks_again: bool = False) -> Outcome:
    user = ScriptedUser().says("how is the weather", at=0.5)
    if asks_again:
        user.says("thank you", at=9.0)
    model = ScriptedLLM(
        {"weather": Reply(preamble, calls=Call("look_up")), "thank": "You are welcome."},
        {"look_up": RESULT},
    )
    stage = Stage(session, user=user, llm=model, tools=[look_up])
    return stage.at(stopped_at, lambda stage: stage.session.interrupt() and None).run(12.0)


@SESSIONS
@pytest.mark.parametrize("preamble", ["", PREAMBLE], ids=["silent", "with a preamble"])
def test_nothing_is_said_after_the_application_has_stopped_the_agent(
    session: Any, preamble: str
) -> None:
    """Neither the result nor that somebody has interrupted."""
    for stopped_at in (2.6, 3.5, 4.5):
        outcome = _play(session, stopped_at, preamble)
        assert outcome.heard_saying(RESULT) is None, outcome.timeline()
        assert [request for request in outcome.requests if request.at > stopped_at] == []


@SESSIONS
def test_the_next_reply_is_made_with_the_result(session: Any) -> None:
    """The user says something later: the model is asked once, and is shown the result."""
    outcome = _play(session, 3.5, PREAMBLE, asks_again=True)
    (request,) = [request for request in outcome.requests if request.at > 3.5]
    assert any("twelve degrees" in line for line in request.context)


def test_the_model_is_not_told_that_the_user_has_interrupted() -> None:
    """They have said nothing."""
    outcome = _play(TurnSession, 3.5, PREAMBLE, asks_again=True)
    said = " ".join(
        item.text_content or ""
        for request in outcome.requests
        for item in request.chat_ctx.items
        if item.type == "message" and item.role in ("system", "developer")
    )
    assert "user had interrupted" not in said
    assert "user has interrupted" not in said
