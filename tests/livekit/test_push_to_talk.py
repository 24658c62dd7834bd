"""A button that the user holds while they speak: it turns the microphone on and off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from both import hearing_session
from livekit.agents import AgentSession
from outcomes import heard
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

Session = Callable[..., AgentSession[Any]]

BOTH = pytest.mark.parametrize("session_class", [AgentSession, TurnSession])
MANUAL: Any = {"turn_detection": "manual"}
SILENT: Any = {"vad": None}


def press(stage: Stage) -> None:
    """As in LiveKit's example."""
    stage.session.interrupt()
    stage.session.clear_user_turn()
    stage.session.input.set_audio_enabled(True)


def release(stage: Stage) -> None:
    stage.session.input.set_audio_enabled(False)
    stage.session.commit_user_turn()


def take_back(stage: Stage) -> None:
    stage.session.input.set_audio_enabled(False)
    stage.session.clear_user_turn()


look = tool("look", "seven", seconds=3.0)


def asks(user: ScriptedUser, **parts: Any) -> Stage:
    """The user holds the button from 0.5 to 2 s, and asks something that takes from 3 to 6 s."""
    model = ScriptedLLM(
        {
            "look": Reply("I am looking.", calls=Call("look")),
            "hurry": "It is seven already.",
            "arrived": "It is seven.",
        },
        {"look": "It is seven."},
    )
    user.says("look please", at=0.6, duration=0.9)
    parts = {"turn_handling": MANUAL, **parts}
    stage = Stage(TurnSession, user=user, llm=model, tools=[look], **parts)
    stage.at(0.1, lambda s: s.session.input.set_audio_enabled(False))
    return stage.at(0.5, press).at(2.0, release)


@pytest.mark.parametrize("parts", [{}, SILENT], ids=["with a VAD", "without a VAD"])
def test_a_result_is_not_told_while_the_button_is_held(parts: dict[str, Any]) -> None:
    """The user presses the button at 4 s, and thinks until 8 s about what to say."""
    user = ScriptedUser().says("please hurry", at=8.0, duration=0.9)
    outcome = asks(user, **parts).at(4.0, press).at(9.2, release).run(16.0)
    assert heard(outcome) == ["I am looking.", "It is seven already."]
    assert outcome.heard[1].start > 9.2


def test_a_late_result_is_not_told_however_long_the_button_is_held() -> None:
    """It comes after another answer. No sound is to be waited for, and the floor is the user's."""

    def open_microphone(stage: Stage) -> None:
        stage.session.input.set_audio_enabled(True)

    user = ScriptedUser()
    stage = asks(user)
    user.says("please hurry", at=3.1, duration=0.9)
    stage.at(3.0, open_microphone).at(4.2, release).at(5.2, open_microphone)
    outcome = stage.at(20.0, take_back).run(25.0)
    assert heard(outcome)[1:] == ["It is seven already.", "It is seven."], outcome.timeline()
    assert outcome.heard[-1].start > 20.0


def test_a_kept_turn_is_not_answered_while_the_button_is_held() -> None:
    """The user says something during a notice that cannot be interrupted, and presses the button
    again before it ends: one answer to both, after the second release."""

    def notice(stage: Stage) -> None:
        stage.session.say("This notice is heard to its end.", allow_interruptions=False)

    def hold(stage: Stage) -> None:
        stage.session.input.set_audio_enabled(True)

    user = ScriptedUser().says("hello there", at=1.2, duration=0.6)
    user.says("are you open", at=6.0, duration=0.9)
    model = ScriptedLLM({"open": "Yes we are.", "hello": "Hello."})
    stage = Stage(hearing_session, user=user, llm=model, turn_handling=MANUAL, vad=None)
    stage.at(0.1, lambda s: s.session.input.set_audio_enabled(False))
    stage.at(1.0, notice).at(1.1, hold).at(1.9, release).at(2.6, hold).at(7.0, release)
    outcome = stage.run(12.0)
    assert heard(outcome) == ["This notice is heard to its end.", "Yes we are."]
    assert outcome.heard[1].start > 7.0


def test_a_turn_that_is_taken_back_starts_no_reply_and_the_next_one_delivers_the_result() -> None:
    """The button interrupts the agent with `session.interrupt()`: then it is silent until it is
    asked again."""
    user = ScriptedUser().says("hurry", at=11.0, duration=0.5)
    stage = asks(user).at(4.0, press).at(8.0, take_back)
    stage.at(10.5, press).at(12.0, release)
    outcome = stage.run(18.0)
    assert heard(outcome) == ["I am looking.", "It is seven already."]
    assert any("result of look" in entry.text for entry in outcome.requests[-1].shown)


def test_a_microphone_that_stays_on_after_a_commit_is_no_button() -> None:
    """It was turned on for the first turn, and is never turned off: the result is told."""
    stage = asks(ScriptedUser())
    stage.at(2.5, lambda s: s.session.input.set_audio_enabled(True))
    stage.at(4.1, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    outcome = stage.at(4.0, lambda s: s.session.interrupt() and None).run(16.0)
    assert "It is seven." in heard(outcome), outcome.timeline()


@BOTH
def test_a_microphone_without_a_button_delays_nothing(session_class: Session) -> None:
    """The user mutes and unmutes; turn detection is automatic."""
    user = ScriptedUser().says("hello", at=3.0)
    stage = Stage(session_class, user=user)
    stage.at(1.0, lambda s: s.session.input.set_audio_enabled(False))
    outcome = stage.at(2.0, lambda s: s.session.input.set_audio_enabled(True)).run(8.0)
    assert heard(outcome) == ["I see."]


@pytest.mark.parametrize("pressed", [2.4, 2.9])
@pytest.mark.parametrize("says", [3.0, 3.1, 3.4])
def test_a_press_gives_up_a_commit_that_waits_for_words(pressed: float, says: float) -> None:
    """Nothing was said before the first release, at 1 s: its commit waits 2 s for words. The user
    presses again meanwhile, and speaks."""
    user = ScriptedUser().says("when do you open", at=says, duration=0.9)
    model = ScriptedLLM({"open": "At nine."})
    stage = Stage(TurnSession, user=user, llm=model, turn_handling=MANUAL)
    promises: list[asyncio.Future[str]] = []
    stage.at(1.0, lambda s: promises.append(s.session.commit_user_turn()))
    outcome = stage.at(pressed, press).at(5.0, release).run(12.0)
    assert [str(request.shown[-1]) for request in outcome.requests] == ["user: when do you open"]
    assert heard(outcome) == ["At nine."]
    assert promises[0].result() == ""


@BOTH
def test_what_a_commit_held_is_heard_when_the_turn_is_cleared(session_class: Session) -> None:
    """After a noise a commit waits for words, and an announcement for the commit."""
    user = ScriptedUser().makes_noise(at=1.0, duration=0.5)
    stage = Stage(session_class, user=user, turn_handling=MANUAL)
    stage.at(1.8, lambda s: s.session.commit_user_turn(transcript_timeout=5.0) and None)
    stage.at(2.0, lambda s: s.session.say("An announcement for all of you.") and None)
    outcome = stage.at(2.6, lambda s: s.session.clear_user_turn()).run(6.0)
    assert heard(outcome) == ["An announcement for all of you."]
    assert outcome.heard[0].start < 3.0
