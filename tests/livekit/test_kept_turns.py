"""Turns that wait are one turn when they are answered."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import Agent

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

NOTICE = "This call is recorded for quality and for training purposes."

HEARD: list[str] = []


class _Notes(Agent):
    """Notes the turns that it is asked about."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        HEARD.append(new_message.text_content)


@pytest.mark.parametrize("second", ["and on Sunday", ""], ids=["words", "a commit without words"])
def test_turns_that_were_kept_are_one_turn(second: str) -> None:
    """Two turns are committed during an announcement. The hook is called once, and the model is
    asked once."""
    HEARD.clear()
    user = ScriptedUser().says("what about tomorrow", at=1.5, duration=0.9, stt_delay=0.1)
    if second:
        user.says(second, at=3.5, duration=0.9, stt_delay=0.1)
    stage = Stage(
        TurnSession,
        user=user,
        agent=_Notes,
        llm=ScriptedLLM({"tomorrow": "It rains."}),
        tts=ScriptedTTS(durations={NOTICE: 6.0}),
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    stage.at(2.6, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    stage.at(4.6, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    outcome = stage.run(12.0)
    asked = f"what about tomorrow {second}".strip()
    assert [asked] == HEARD, outcome.timeline()
    assert [request.shown[-1].text for request in outcome.requests] == [asked]
    assert outcome.heard_saying("It rains.") is not None
    session: Any = stage.session
    assert session.user_turns == {"replied": 1, "superseded": 1, "dropped": 0, "queued": 0}
