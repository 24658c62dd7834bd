"""`turn_detection="stt"` with a VAD: the STT reports ends of turns later than transcripts."""

from __future__ import annotations

import pytest
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedSTT,
    ScriptedUser,
    Stage,
)


@pytest.mark.parametrize("seconds", [1.8, 2.2])
def test_nothing_begins_between_the_transcript_and_the_end_of_the_turn(seconds: float) -> None:
    """The result of a call comes there, and the agent could speak."""
    user = ScriptedUser().says("reserve", at=0.5).says("and the hours", at=4.0, duration=0.5)
    model = ScriptedLLM({"reserve": Reply("", calls=Call("book")), "hours": "All day."})
    stage = Stage(
        TurnSession,
        user=user,
        llm=model,
        stt=ScriptedSTT(user, ends_turns=True, ends_after=1.5),
        tools=[tool("book", "booked", seconds=seconds)],
        turn_handling={"turn_detection": "stt"},
    )
    outcome = stage.run(20.0)
    assert [heard.start for heard in outcome.heard if 4.0 < heard.start < 6.3] == []
    assert outcome.heard[0].text == "All day.", outcome.timeline()
