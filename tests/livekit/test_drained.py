"""What an application asks of a session that it has drained."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedUser, Stage

both = pytest.mark.parametrize("session_class", [AgentSession, TurnSession])


@both
def test_a_run_ends_with_its_reply_though_the_session_drains_meanwhile(session_class: Any) -> None:
    """The session drains while the reply is heard."""
    ended: list[float] = []

    async def run(stage: Stage) -> None:
        result = await stage.session.run(user_input="hello")
        result.expect.next_event().is_message(role="assistant")
        ended.append(stage.now)

    model = ScriptedLLM({"hello": "Good morning to you."})
    stage = Stage(session_class, user=ScriptedUser(), llm=model)
    stage.at(1.0, run).at(1.8, lambda stage: stage.session.drain())
    outcome = stage.run(20.0)
    assert ended[0] < 3.0, outcome.timeline()
    assert outcome.warnings == []


@both
def test_a_run_of_a_drained_session_fails_at_once(session_class: Any) -> None:
    """Nothing is said any more."""
    failed: list[tuple[float, str]] = []

    async def run(stage: Stage) -> None:
        try:
            await stage.session.run(user_input="hello")
        except RuntimeError as error:
            failed.append((stage.now, str(error)))

    model = ScriptedLLM({"hello": "Good morning to you."})
    stage = Stage(session_class, user=ScriptedUser(), llm=model)
    stage.at(1.0, lambda stage: stage.session.drain()).at(2.0, run)
    outcome = stage.run(20.0)
    [(at, text)] = failed
    assert at < 2.5, outcome.timeline()
    assert "Session is closing" in text
    assert outcome.warnings == []
