"""A deferred turn that cannot interrupt what is said: it has too few words (`min_words`)."""

from __future__ import annotations

from typing import Any

import pytest
from both import hearing_session

from turnfsm.runtime.livekit.overrides.activity import GovernedActivity
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

NOTICE, OFFER = "This call is recorded.", "We have a special offer for you today."


def _stage(min_words: int) -> Stage:
    """What the agent says at 4 s was scheduled after the turn was deferred."""
    stage = Stage(
        hearing_session,
        user=ScriptedUser().says("please", at=1.5, duration=0.4, stt_delay=0.1),
        llm=ScriptedLLM({"please": "You are welcome."}),
        tts=ScriptedTTS(durations={NOTICE: 5.0, OFFER: 3.0}),
        turn_handling={"interruption": {"min_words": min_words}},
    )
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    stage.at(4.0, lambda s: s.session.say(OFFER) and None)
    return stage


def _taken(stage: Stage) -> int:
    session: Any = stage.session
    return sum(entry.verdict.trigger == "deferred_turn" for entry in session.turn.journal)


def test_it_is_answered_when_the_agent_has_finished() -> None:
    stage = _stage(min_words=2)
    outcome = stage.run(15.0)
    heard = [sound.text for sound in outcome.heard]
    assert heard == [NOTICE, OFFER, "You are welcome."], outcome.timeline()
    assert _taken(stage) == 1


def test_with_enough_words_it_takes_the_place_of_what_is_said() -> None:
    stage = _stage(min_words=1)
    outcome = stage.run(15.0)
    assert outcome.heard_saying(OFFER) is None, outcome.timeline()
    assert outcome.heard_saying("You are welcome.") is not None, outcome.timeline()
    assert _taken(stage) == 1


def test_an_agent_that_does_not_commit_it_is_asked_again_only_when_something_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the loop would never rest, and virtual time never pass."""
    monkeypatch.setattr(GovernedActivity, "take_turn", lambda self, info: None)
    stage = _stage(min_words=0)
    stage.run(15.0)
    assert 1 < _taken(stage) < 30
