"""Turns that wait are one turn when they are answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from both import hearing_session
from livekit.agents import Agent

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Reply, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

NOTICE = "This call is recorded for quality and for training purposes."

HEARD: list[str] = []


class _Notes(Agent):
    """Notes the turns that it is asked about."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        HEARD.append(new_message.text_content)


class _Slow(_Notes):
    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await asyncio.sleep(1.0)


@pytest.mark.parametrize("second", ["and on Sunday", ""], ids=["words", "a commit without words"])
def test_deferred_turns_are_one_turn(second: str) -> None:
    """Two turns are committed during an announcement; one without words is none. The hook is called
    once, and the model is asked once."""
    HEARD.clear()
    user = ScriptedUser().says("what about tomorrow", at=1.5, duration=0.9, stt_delay=0.1)
    if second:
        user.says(second, at=3.5, duration=0.9, stt_delay=0.1)
    stage = Stage(
        hearing_session,
        user=user,
        agent=_Notes,
        llm=ScriptedLLM({"tomorrow": "It rains."}),
        tts=ScriptedTTS(durations={NOTICE: 6.0}),
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    stage.at(2.6, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    stage.at(4.6, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    deferred: list[bool] = []
    for tenth in range(5, 110):
        stage.at(tenth / 10, lambda s: deferred.append(s.session.turn.holds("turn_deferred")))
    outcome = stage.run(12.0)
    assert deferred.count(True) in range(35, 45)
    asked = f"what about tomorrow {second}".strip()
    assert [asked] == HEARD, outcome.timeline()
    assert [request.shown[-1].text for request in outcome.requests] == [asked]
    assert outcome.heard_saying("It rains.") is not None
    session: Any = stage.session
    ended = {how: count for how, count in session.user_turns.items() if count}
    assert ended == {"replied": 1, "superseded": 1} if second else {"replied": 1}


def test_a_commit_without_words_in_a_handoff_skips_nothing() -> None:
    """The handoff waits for what the agent says. Nobody answers, and no warning is logged."""
    stage = Stage(
        TurnSession,
        agent=_Notes,
        tts=ScriptedTTS(durations={NOTICE: 4.0}),
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    stage.at(1.0, lambda s: s.session.update_agent(_Notes()))
    stage.at(2.0, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    outcome = stage.run(8.0)
    assert (outcome.requests, [text for at, text in outcome.warnings if at < 8.0]) == ([], [])


def test_cleared_words_are_not_asked_about_together_with_a_deferred_turn() -> None:
    """The model is asked ahead about both. After the clear it is asked about the deferred turn,
    once, and LiveKit has no reply that it must drop."""
    user = ScriptedUser().says("what about tomorrow", at=1.5, duration=0.9, stt_delay=0.1)
    user.says("and on Sunday", at=5.0, duration=1.2, stt_delay=0.05)
    stage = Stage(
        hearing_session,
        user=user,
        llm=ScriptedLLM({"tomorrow": Reply("It rains.", ttft=1.0)}),
        tts=ScriptedTTS(durations={NOTICE: 5.2}),
        turn_handling={"preemptive_generation": {"enabled": True}},
    )
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    stage.at(6.35, lambda s: s.session.clear_user_turn())
    outcome = stage.run(14.0)
    ends = [(request.prompt, request.outcome) for request in outcome.requests]
    deferred, both = "user: what about tomorrow", "user: what about tomorrow and on Sunday"
    assert ends == [(both, "cancelled"), (deferred, "complete")], outcome.timeline()
    assert outcome.warnings == []


def test_a_clear_does_not_stop_the_reply_to_words_that_are_committed() -> None:
    """The turn is committed at 2.1 s, and the agent's hook takes a second. The reply was asked for
    ahead, and is used."""
    user = ScriptedUser().says("what about tomorrow", at=1.0, duration=0.6, stt_delay=0.3)
    stage = Stage(
        TurnSession,
        agent=_Slow,
        user=user,
        llm=ScriptedLLM({"tomorrow": "It rains."}),
        turn_handling={"preemptive_generation": {"enabled": True}},
    )
    stage.at(2.5, lambda s: s.session.clear_user_turn())
    outcome = stage.run(8.0)
    assert [request.outcome for request in outcome.requests] == ["complete"], outcome.timeline()
    assert outcome.warnings == []


def _asks_for_two_things(user: ScriptedUser, second: str) -> Stage:
    """A notice of 3 s from 0.5 s on, and perhaps something behind it that can be interrupted."""
    model = ScriptedLLM({"tomorrow": "It rains.", "news": "Nothing is new."})
    voice = ScriptedTTS(durations={NOTICE: 3.0, "Nothing is new.": 2.0})
    stage = Stage(hearing_session, user=user, llm=model, tts=voice)
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    if second == "say":
        stage.at(0.6, lambda s: s.session.say("Nothing is new.") and None)
    elif second == "typed words":
        stage.at(0.6, lambda s: s.session.generate_reply(user_input="news") and None)
    return stage


@pytest.mark.parametrize("second", ["say", "typed words"])
def test_what_was_asked_for_before_a_deferred_turn_is_heard_before_its_answer(second: str) -> None:
    """The user speaks over a notice. Behind it the application has something else to say, which the
    turn would cut before it is heard."""
    user = ScriptedUser().says("what about tomorrow", at=1.0, duration=0.9)
    outcome = _asks_for_two_things(user, second).run(14.0)
    said = [heard.text for heard in outcome.heard]
    assert said == [NOTICE, "Nothing is new.", "It rains."], outcome.timeline()


def test_a_deferred_turn_is_answered_together_with_words_over_what_comes_before_it() -> None:
    """These words end what is heard then."""
    user = ScriptedUser().says("what about tomorrow", at=1.0, duration=0.9)
    user.says("and on Sunday", at=4.0, duration=0.9)
    outcome = _asks_for_two_things(user, "say").run(14.0)
    said = [heard.text for heard in outcome.heard]
    assert said == [NOTICE, "Nothing", "It rains."], outcome.timeline()
    asked = [request.shown[-1].text for request in outcome.requests]
    assert asked == ["what about tomorrow and on Sunday"]


def test_a_deferred_turn_does_not_wait_for_what_the_application_has_interrupted() -> None:
    user = ScriptedUser().says("what about tomorrow", at=1.0, duration=0.9)
    said: list[Any] = []
    stage = _asks_for_two_things(user, "")
    stage.at(0.7, lambda s: said.append(s.session.say("Nothing is new.")))
    stage.at(3.0, lambda _: said[0].interrupt() and None)
    outcome = stage.run(14.0)
    assert [heard.text for heard in outcome.heard] == [NOTICE, "It rains."], outcome.timeline()
    assert outcome.heard[1].start < 4.2, outcome.timeline()


@pytest.mark.parametrize("commits", [3.3, 3.6], ids=["while it is heard", "after it"])
def test_a_deferred_turn_is_answered_although_a_commit_for_a_noise_gets_no_words(
    commits: float,
) -> None:
    """It is deferred during an announcement. This is over when the application commits."""
    user = ScriptedUser().says("what about tomorrow", at=1.5, duration=0.6, stt_delay=0.1)
    user.makes_noise(at=2.6, duration=0.8)
    stage = Stage(
        hearing_session,
        user=user,
        llm=ScriptedLLM({"tomorrow": "It rains."}),
        tts=ScriptedTTS(durations={NOTICE: 1.8}),
    )
    stage.at(1.0, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    stage.at(commits, lambda s: s.session.commit_user_turn() and None)
    outcome = stage.run(20.0)
    heard = outcome.heard_saying("It rains.")
    assert heard is not None, outcome.timeline()
    assert heard.start < commits + 2.7


class _Pensive(_Notes):
    """Its hook takes long."""

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await asyncio.sleep(3.0)


def test_a_turn_that_a_handoff_overtakes_comes_before_the_turn_that_was_deferred_meanwhile() -> (
    None
):
    """The agent still thinks about the first turn when it is replaced. The second turn ends during
    the handoff. The next agent is asked about both, in the order in which they were said."""
    HEARD.clear()
    user = ScriptedUser().says("what about tomorrow", at=1.0, duration=0.9, stt_delay=0.1)
    user.says("and on Sunday", at=3.2, duration=0.6, stt_delay=0.1)
    stage = Stage(
        hearing_session,
        user=user,
        agent=_Pensive,
        tts=ScriptedTTS(durations={NOTICE: 5.0}),
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(2.2, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    stage.at(2.6, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    stage.at(2.9, lambda s: s.session.update_agent(_Notes()))
    stage.at(4.2, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    outcome = stage.run(16.0)
    assert HEARD == ["what about tomorrow and on Sunday"], outcome.timeline()
