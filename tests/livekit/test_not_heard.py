"""The section `not_heard`: the agent says that it cannot hear or understand the user."""

from __future__ import annotations

from functools import partial

import pytest
from flow_text import parsed
from livekit.agents import AgentSession
from outcomes import heard, run

from turnfsm.fsm import Flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Outcome, ScriptedLLM, ScriptedUser, Stage

AGAIN, DEAF = "Could you say that again?", "I cannot hear you."
SECTION = f"{{say: {AGAIN}, no_audio: {DEAF}}}"


def flow_of(section: str = SECTION, more: str = "", extends: str = "turn") -> Flow:
    return parsed(f"flow: mine\nextends: {extends}\n{more}not_heard: {section}\n")


def play(user: ScriptedUser, until: float, flow: Flow | None = None) -> Outcome:
    stage = Stage(
        partial(TurnSession, flow=flow or flow_of(), proof="off"),
        user=user,
        llm=ScriptedLLM(otherwise="Yes?"),
    )
    return run(stage, until)


@pytest.mark.parametrize("extends", ["turn", "overlap", "half_duplex", "uninterruptible"])
def test_speech_without_a_transcript_is_asked_for_again(extends: str) -> None:
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5)
    outcome = play(user, 12.0, flow_of(extends=extends))
    assert heard(outcome) == [AGAIN], outcome.timeline()
    assert outcome.heard[0].start == pytest.approx(1.0 + 1.5 + 3.0, abs=0.7)


def test_it_is_asked_for_again_when_the_user_has_stopped() -> None:
    """They begin their second sentence before the transcript of the first one is overdue."""
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5).makes_noise(at=3.5, duration=4.0)
    outcome = play(user, 14.0)
    assert heard(outcome) == [AGAIN], outcome.timeline()
    assert outcome.heard[0].start == pytest.approx(3.5 + 4.0 + 2.3, abs=0.3)


def test_it_is_asked_for_again_when_its_transcript_is_not_awaited_any_more() -> None:
    """The application gives the STT more time than the limit."""
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5)
    late = {"interruption": {"false_interruption_timeout": 5.0}}
    session = partial(TurnSession, flow=flow_of(), proof="off", turn_handling=late)
    outcome = run(Stage(session, user=user, llm=ScriptedLLM(otherwise="Yes?")), 14.0)
    assert heard(outcome) == [AGAIN], outcome.timeline()
    assert outcome.heard[0].start == pytest.approx(1.0 + 1.5 + 5.3, abs=0.3)


def test_agent_session_says_nothing() -> None:
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5)
    assert heard(Stage(AgentSession, user=user, llm=ScriptedLLM(otherwise="Yes?")).run(12.0)) == []


def test_a_short_sound_is_no_speech() -> None:
    assert heard(play(ScriptedUser().makes_noise(at=1.0, duration=0.5), 12.0)) == []


LONG = "One two three four five six seven eight nine ten."


@pytest.mark.parametrize(
    ("interruptible", "warm_up"), [(False, None), (True, 5.0)], ids=["discarded", "warm-up"]
)
def test_audio_that_the_stt_does_not_get_is_not_asked_for_again(
    interruptible: bool, warm_up: float | None
) -> None:
    """It may be the agent's own echo."""
    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off", aec_warmup_duration=warm_up),
        user=ScriptedUser().makes_noise(at=1.5, duration=1.5),
        llm=ScriptedLLM(otherwise="Yes?"),
    )
    stage.at(1.0, lambda stage: stage.session.say(LONG, allow_interruptions=interruptible))
    assert heard(run(stage, 12.0)) == [LONG]


def test_a_voice_that_goes_on_after_uninterruptible_speech_is_asked_for_again() -> None:
    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"),
        user=ScriptedUser().makes_noise(at=3.0, duration=3.0),
        llm=ScriptedLLM(otherwise="Yes?"),
    )
    stage.at(1.0, lambda stage: stage.session.say(LONG, allow_interruptions=False))
    assert heard(run(stage, 14.0)) == [LONG, AGAIN]


def test_it_is_said_once_until_a_transcript_comes() -> None:
    user = ScriptedUser()
    for at in (1.0, 8.0, 15.0):
        user = user.makes_noise(at=at, duration=1.5)
    user = user.says("hello", at=22.0).makes_noise(at=27.0, duration=1.5)
    assert heard(play(user, 40.0)) == [AGAIN, "Yes?", AGAIN]


def test_words_that_come_in_time_are_only_answered() -> None:
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5).says("hello", at=3.5)
    assert heard(play(user, 12.0)) == ["Yes?"]


def test_missing_audio_is_said_once_until_it_comes_again() -> None:
    user = ScriptedUser().drops_out(at=1.0, duration=12.0).drops_out(at=20.0, duration=7.0)
    outcome = play(user, 32.0)
    assert heard(outcome) == [DEAF, DEAF], outcome.timeline()
    starts = [one.start for one in outcome.heard]
    assert starts == pytest.approx([6.0, 25.0], abs=0.7)


@pytest.mark.parametrize("by", ["flow", "session"])
def test_the_waits_can_be_set(by: str) -> None:
    """In a flow, or as an argument of the session."""
    seconds = {"transcript_limit": 2.5, "audio_limit": 2.0}
    more = f"timers: {seconds}\n".replace("'", "") if by == "flow" else ""
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5).drops_out(at=10.0, duration=6.0)
    session = partial(
        TurnSession, flow=flow_of(more=more), proof="off", timers=seconds if not more else None
    )
    outcome = run(Stage(session, user=user, llm=ScriptedLLM(otherwise="Yes?")), 20.0)
    assert heard(outcome) == [AGAIN, DEAF], outcome.timeline()
    starts = [one.start for one in outcome.heard]
    assert starts == pytest.approx([2.75 + 2.5, 12.0], abs=0.2)


def test_audio_is_missed_only_as_long_as_the_microphone_is_on() -> None:
    """It is turned on while no audio comes."""
    user = ScriptedUser().drops_out(at=1.0, duration=30.0)
    stage = Stage(partial(TurnSession, flow=flow_of(), proof="off"), user=user, llm=ScriptedLLM())
    stage.at(0.5, lambda s: s.session.input.set_audio_enabled(False))
    stage.at(9.0, lambda s: s.session.input.set_audio_enabled(True))
    outcome = stage.run(20.0)
    assert [one.start for one in outcome.heard] == pytest.approx([14.0], abs=0.3)


def test_without_no_audio_nothing_is_said_about_missing_audio() -> None:
    user = ScriptedUser().drops_out(at=1.0, duration=12.0)
    assert heard(play(user, 20.0, flow_of(f"{{say: {AGAIN}}}"))) == []


def test_it_is_not_said_to_a_user_who_is_on_hold() -> None:
    more = "hold: {say: Take your time., then: Are you back?}\n"
    user = ScriptedUser().says("hold on", at=1.0).makes_noise(at=8.0, duration=1.5)
    assert heard(play(user, 20.0, flow_of(more=more))) == ["Take your time."]


def test_several_texts_are_said_in_turn() -> None:
    flow = flow_of(f"{{say: [{AGAIN}, Once more please.]}}")
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5).says("hello", at=9.0)
    user = user.makes_noise(at=15.0, duration=1.5)
    assert heard(play(user, 25.0, flow)) == [AGAIN, "Yes?", "Once more please."]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("extends", ["turn", "overlap"])
def test_it_is_proved(extends: str) -> None:
    report = check_flow(flow_of(extends=extends))
    assert report.ok, report.findings
