"""The realtime model of the kit: each response that was asked for comes, or fails."""

from __future__ import annotations

import pytest
from livekit.agents import llm

from turnfsm.testing import ScriptedLLM, ScriptedRealtime, ScriptedTTS, ScriptedUser, run


def test_a_response_that_is_cancelled_before_it_begins_fails() -> None:
    """Else the reply that waits for it would wait for ever."""

    async def cancelled_at_once() -> None:
        model = ScriptedRealtime(ScriptedUser(), ScriptedLLM({}), ScriptedTTS())
        session = model.session()
        asked = session.generate_reply()
        session.interrupt()
        with pytest.raises(llm.RealtimeError, match="cancelled"):
            await asked
        await session.aclose()

    run(cancelled_at_once())
