"""A turn with too few words to interrupt (`min_words`), which nothing that is heard has to fear."""

from __future__ import annotations

import pytest
from both import hearing_session
from livekit.agents import AgentSession

from turnfsm.runtime.testing.livekit import (
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

SUNNY, CLOUDY = "It is sunny in Madrid today.", "It will be cloudy."


def _two_words_interrupt(user: ScriptedUser, session_class: type = hearing_session) -> Outcome:
    """The model thinks from about 1.9 to 2.9 s, and then 3 s are heard."""
    return Stage(
        session_class,
        user=user.says("weather please", at=1.0),
        llm=ScriptedLLM({"weather": Reply(SUNNY, ttft=1.0), "tomorrow": CLOUDY}),
        tts=ScriptedTTS(durations={SUNNY: 3.0}),
        turn_handling={"interruption": {"min_words": 2}},
    ).run(14.0)


def test_it_is_answered_after_the_reply_that_was_about_to_be_said() -> None:
    """One word while the model thinks: the reply is heard, and then the word is answered."""
    outcome = _two_words_interrupt(ScriptedUser().says("tomorrow", at=2.1, duration=0.3))
    assert [sound.text for sound in outcome.heard] == [SUNNY, CLOUDY], outcome.timeline()
    assert [line for line in outcome.context if line.startswith("user")] == [
        "user: weather please",
        "user: tomorrow",
    ]


def test_on_agent_session_it_waits_for_the_next_words_of_the_user() -> None:
    user = ScriptedUser().says("tomorrow", at=2.1, duration=0.3)
    assert [sound.text for sound in _two_words_interrupt(user, AgentSession).heard] == [SUNNY]


@pytest.mark.parametrize("at", [3.6, 4.4])
def test_over_what_is_heard_it_is_no_turn(at: float) -> None:
    """That is what `min_words` is for: the words begin the next turn, as on `AgentSession`."""
    outcome = _two_words_interrupt(ScriptedUser().says("tomorrow", at=at, duration=0.3))
    assert [sound.text for sound in outcome.heard] == [SUNNY], outcome.timeline()


@pytest.mark.parametrize("session_class", [hearing_session, AgentSession])
def test_an_acknowledgement_gets_no_answer_of_its_own(session_class: type) -> None:
    """It begins the user's next turn, on both sessions."""
    user = ScriptedUser().says("okay", at=2.1, duration=0.3).says("tomorrow please", at=8.0)
    outcome = _two_words_interrupt(user, session_class)
    assert [sound.text for sound in outcome.heard] == [SUNNY, CLOUDY], outcome.timeline()
    assert list(outcome.context[-2:]) == ["user: okay tomorrow please", f"assistant: {CLOUDY}"]
