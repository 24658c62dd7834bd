"""The request that shows the model the result of a call has the question that the call is for."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from livekit.agents import AgentSession, RunContext, function_tool
from sweeps import swept

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

QUESTION, MORE = "how is the weather", "in Oslo I mean"
PREAMBLE = "One moment please I look that up."
How = Literal["user", "asks", "replies"]

SESSIONS = pytest.mark.parametrize("session", [AgentSession, TurnSession])


def _hidden(session: Any, how: How, at: float, preamble: str) -> list[float]:
    """When a request had the result and not the question."""

    @function_tool
    async def look_up(ctx: RunContext[Any]) -> str:
        """Look the weather up."""
        ctx.disallow_interruptions()
        await asyncio.sleep(3.0)
        return "twelve degrees"

    user = ScriptedUser().says(QUESTION, at=0.5)
    model = ScriptedLLM(
        {"Oslo": "Oslo it is.", "weather": Reply(preamble, calls=Call("look_up"))},
        {"look_up": "It is twelve degrees."},
    )
    stage = Stage(session, user=user, llm=model, tools=[look_up])
    if how == "user":
        user.says(MORE, at=at)
    else:
        asked = {"user_input": MORE} if how == "asks" else {}
        stage.at(at, lambda stage: stage.session.generate_reply(**asked) and None)
    return [
        request.at
        for request in stage.run(10.0).requests
        if any(line.startswith("output") and "degrees" in line for line in request.context)
        and not any(QUESTION in line for line in request.context)
    ]


@pytest.mark.one_in(3)
@SESSIONS
@swept("moments", [2.0 + 0.35 * n for n in range(12)], every=3)
@pytest.mark.parametrize(
    ("how", "preamble"),
    [("user", ""), ("asks", ""), ("asks", PREAMBLE), ("replies", ""), ("replies", PREAMBLE)],
)
def test_the_result_is_shown_with_its_question(
    session: Any, how: How, preamble: str, moments: list[float]
) -> None:
    """While the tool runs, the user says more, or the application asks for a reply: with words, or
    without."""
    hidden = {at: found for at in moments if (found := _hidden(session, how, at, preamble))}
    assert hidden == {}
