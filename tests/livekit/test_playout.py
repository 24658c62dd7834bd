"""What is heard, and what the agent state says about it, when a part fails."""

from __future__ import annotations

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedTTS, ScriptedUser, Stage

STORY = "One two three four five six seven eight nine ten."


def test_what_a_voice_that_broke_off_has_left_is_not_heard() -> None:
    """It fails while the user has cut it: its rest does not sound under another state."""
    user = ScriptedUser().makes_noise(at=2.0, duration=3.0)
    stage = Stage(TurnSession, user=user, tts=ScriptedTTS(failures={STORY: 2.9}))
    stage.at(0.5, lambda s: s.session.say(STORY) and None)
    outcome = stage.run(12.0)
    (heard,) = outcome.heard
    assert heard.end < 2.6
    assert outcome.wrong_agent_states(0.021) == []
    assert outcome.orphans == ()
