"""What a session says as it closes, and what it leaves behind."""

from __future__ import annotations

import pytest
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedUser, Stage

GOODBYE = "goodbye my friend"


def bids_farewell(stage: Stage) -> None:
    """Say goodbye, and close when it was said."""
    stage.session.say(GOODBYE)
    stage.session.shutdown()


@pytest.mark.parametrize("kind", [AgentSession, TurnSession])
def test_a_goodbye_does_not_wait_for_words_that_a_close_does_not_answer(
    kind: type[AgentSession],
) -> None:
    """The user has coughed, from 1.0 to 2.0 s: for two more seconds words of it may come."""
    user = ScriptedUser().makes_noise(at=1.0, duration=1.0)
    outcome = Stage(kind, user=user, llm=ScriptedLLM({})).at(2.8, bids_farewell).run(20.0)
    assert [heard.text for heard in outcome.heard] == [GOODBYE]
    assert outcome.heard[0].start < 3.3, outcome.timeline()


def test_a_goodbye_that_is_held_when_the_close_begins_is_said() -> None:
    """It waits for words of the cough; the application closes a moment later."""
    user = ScriptedUser().makes_noise(at=1.0, duration=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({}))
    stage.at(2.7, lambda stage: stage.session.say(GOODBYE))
    stage.at(3.2, lambda stage: stage.session.shutdown())
    outcome = stage.run(20.0)
    assert [heard.text for heard in outcome.heard] == [GOODBYE]
    assert 3.15 < outcome.heard[0].start < 3.6, outcome.timeline()


def test_a_goodbye_waits_until_the_user_does_not_speak() -> None:
    """The words are not answered, but nobody talks over them."""
    user = ScriptedUser().makes_noise(at=1.0, duration=0.4)
    user.makes_noise(at=2.7, duration=0.4)
    outcome = Stage(TurnSession, user=user, llm=ScriptedLLM({})).at(2.9, bids_farewell).run(20.0)
    assert [heard.text for heard in outcome.heard] == [GOODBYE]
    assert outcome.heard[0].start >= 3.1, outcome.timeline()


def test_a_speech_that_the_user_has_interrupted_does_not_go_on_as_the_session_closes() -> None:
    """Their words are on the way."""
    user = ScriptedUser().says("hello", at=1.0).says("stop it please", at=3.5, stt_delay=1.2)
    model = ScriptedLLM({"hello": "Here is what I wanted to tell you since this morning."})
    stage = Stage(TurnSession, user=user, llm=model)
    outcome = stage.at(5.2, lambda stage: stage.session.shutdown()).run(20.0)
    assert len(outcome.heard) == 1
    assert outcome.heard[0].end < 5.0, outcome.timeline()


def test_no_task_is_left_that_waits_for_words_of_the_user() -> None:
    """The cough is so recent that words of it may still come."""
    user = ScriptedUser().makes_noise(at=1.0, duration=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({}), session_close_transcript_timeout=0.1)
    outcome = stage.run(2.6)
    assert outcome.orphans == ()
