"""What an application asks of a session that closes."""

from __future__ import annotations

import asyncio

import pytest

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, Stage


def test_a_run_that_is_asked_of_a_session_that_closes_is_refused_in_plain_words() -> None:
    """It is not nested in another."""

    async def ask(stage: Stage) -> None:
        closing = asyncio.create_task(stage.session.aclose())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="AgentSession is closing, cannot use run"):
            stage.session.run(user_input="hello")
        await closing
        stage.note("closed")

    outcome = Stage(TurnSession, llm=ScriptedLLM({"hello": "Hello."})).at(1.0, ask).run(8.0)
    assert "closed" in outcome.marks
