"""The section `backchannels`: what the agent says at a pause of a user who talks on."""

from __future__ import annotations

import wave
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flow_text import parsed
from outcomes import run
from scripted_tool import tool

from turnfsm.fsm import Flow, HostError, load_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.conversation.governing import govern
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

STORY = "so I was on the train and then it stopped in the middle of nowhere for two hours"
SILERO = {"min_silence": 0.55}
FLOW = "flow: mine\nextends: {extends}\nbackchannels: {{say: [Mhm., I see.], after: 3{more}}}\n"


def flow_of(more: str = "", extends: str = "turn") -> Flow:
    return parsed(FLOW.format(extends=extends, more=more))


def talks(*pauses: float, begins: float = 1.0, ends: float = 12.0) -> ScriptedUser:
    """The user talks with a pause of 0.4 s at each of these times."""
    user, at = ScriptedUser(), begins
    for pause in (*pauses, ends):
        user.says("and so on", at=at, duration=pause - at)
        at = pause + 0.4
    return user


def play(user: ScriptedUser, flow: Any = None, until: float = 20.0, **options: Any) -> Outcome:
    options.setdefault("tts", ScriptedTTS(durations={"Mhm.": 0.4, "I see.": 0.4}))
    options.setdefault("vad", ScriptedVAD(**SILERO))
    options.setdefault("llm", ScriptedLLM(otherwise="As you like."))
    session = partial(TurnSession, flow=flow or flow_of(), proof="off")
    return run(Stage(session, user=user, **options), until)


def times(outcome: Outcome) -> list[float]:
    return [round(one.start, 1) for one in outcome.backchannels]


def test_it_is_said_at_a_pause_after_some_seconds_of_speech() -> None:
    outcome = play(talks(3.0, 6.0, 8.0, 11.0))
    assert times(outcome) == [6.2, 11.2], outcome.timeline()
    assert [one.text for one in outcome.backchannels] == ["Mhm.", "I see."]


def test_a_closed_mouth_within_a_word_is_no_pause() -> None:
    user = ScriptedUser().says("and so on", at=1.0, duration=5.0)
    user.says("and so", at=6.1, duration=2.0).says("on", at=8.35, duration=2.0)
    assert times(play(user)) == [8.3]


def test_nothing_else_changes() -> None:
    """It is no speech and no message, and no state of the agent is published for it."""
    user = talks(6.0, 11.0)
    spoken, without = play(user), play(talks(6.0, 11.0), "turn")
    assert times(spoken) == [6.2, 11.2], spoken.timeline()
    assert spoken.heard == without.heard
    assert spoken.context == without.context
    assert spoken.agent_states == without.agent_states
    assert len(spoken.speeches) == len(without.speeches)
    assert len(spoken.requests) == len(without.requests)


@pytest.mark.parametrize(
    "user",
    [
        talks(2.0, ends=3.4),
        ScriptedUser().makes_noise(at=1.0, duration=0.4),
        ScriptedUser().says("hello there", at=4.0, duration=1.0),
        talks(ends=12.0),
    ],
    ids=["less speech", "a noise", "silence before", "no pause"],
)
def test_without_a_pause_after_so_much_speech_none_is_said(user: ScriptedUser) -> None:
    outcome = play(user)
    assert [one for one in outcome.backchannels if one.start < 11.9] == []


@pytest.mark.parametrize("lasts", [0.3, 4.0])
def test_the_agents_speech_ends_one_that_is_still_heard(lasts: float) -> None:
    """The last pause is the end of the turn, which nobody knows yet."""
    tts = ScriptedTTS(durations={"Mhm.": lasts, "I see.": lasts})
    outcome = play(talks(ends=6.0), tts=tts, flow=flow_of(more=", pause: 0.1"))
    (one,), (answer,) = outcome.backchannels, outcome.heard
    assert one.start == pytest.approx(6.2, abs=0.06), outcome.timeline()
    assert one.end == pytest.approx(min(one.start + lasts, answer.start), abs=0.02)


def test_none_is_said_while_the_agent_has_the_floor() -> None:
    """The user talks over an agent that finishes what it says."""
    user = ScriptedUser().says("tell me", at=1.0)
    for at in (3.0, 7.4, 11.8):
        user.says("and then we waited", at=at, duration=4.0)
    outcome = play(
        user,
        flow_of(extends="uninterruptible"),
        llm=ScriptedLLM({"tell": STORY}, otherwise="As you like."),
        tts=ScriptedTTS(durations={STORY: 14.0}),
        until=30.0,
    )
    story = outcome.heard[0]
    assert story.end > 16.0, outcome.timeline()
    assert not [one for one in outcome.backchannels if one.start < story.end]


@pytest.mark.parametrize(("states", "said"), [("listening", 0), ("[listening, tool_running]", 1)])
def test_while_a_tool_runs_it_is_said_if_the_flow_says_so(states: str, said: int) -> None:
    search = tool("search", "found", seconds=8.0)
    user = ScriptedUser().says("search it", at=1.0).says("it was blue", at=3.0, duration=4.0)
    user.says("and small", at=7.4, duration=0.6)
    model = ScriptedLLM({"search": Reply(calls=Call("search"))}, otherwise="As you like.")
    outcome = play(user, flow_of(f", in: {states}"), llm=model, tools=[search], until=25.0)
    assert len([one for one in outcome.backchannels if one.start < 7.4]) == said


def test_a_voice_that_fails_costs_only_the_backchannels() -> None:
    tts = ScriptedTTS(failures={"I see.": 0.1})
    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"),
        user=talks(6.0),
        tts=tts,
        vad=ScriptedVAD(**SILERO),
        llm=ScriptedLLM(otherwise="As you like."),
    )
    outcome = stage.run(20.0)
    assert outcome.backchannels == []
    assert [one.text for one in outcome.heard] == ["As you like."], outcome.timeline()
    assert any("the backchannels were not synthesised" in what for _, what in outcome.warnings)


def test_a_session_without_audio_says_none() -> None:
    user = talks(6.0)
    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"), user=user, vad=ScriptedVAD(**SILERO)
    )
    stage.at(0.5, lambda stage: stage.session.output.set_audio_enabled(False))
    assert run(stage, 20.0).backchannels == []


def test_it_may_be_a_sound(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "mhm.wav"), "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", "not compressed"))
        file.writeframes(b"\0\0" * 12_000)
    path = tmp_path / "mine.yaml"
    path.write_text("flow: mine\nextends: turn\nbackchannels: {audio: mhm.wav, after: 3}\n")
    (one,) = play(talks(6.0, ends=8.0), load_flow(path)).backchannels
    assert (one.start, one.end) == pytest.approx((6.25, 6.75), abs=0.08)


@pytest.mark.parametrize("extends", ["overlap", "half_duplex", "uninterruptible"])
def test_it_works_with_other_flows(extends: str) -> None:
    outcome = play(talks(6.0, 11.0), flow_of(extends=extends))
    assert times(outcome) == [6.2, 11.2], outcome.timeline()


def test_on_hold_none_is_said() -> None:
    flow = flow_of("}\nhold: {until: [I am back], then: Are you back?")
    user = ScriptedUser().says("hold on please", at=1.0)
    user.says("have you seen it", at=4.0, duration=4.0).says("the red one", at=8.4, duration=1.0)
    assert play(user, flow).backchannels == []


def test_another_host_refuses_it() -> None:
    with pytest.raises(HostError, match="'backchannels', and only TurnSession"):
        govern(object(), flow_of(), proof="off")  # type: ignore[arg-type]


def test_one_is_over_before_the_next_is_said() -> None:
    """They are longer than the seconds between them."""
    flow = parsed("flow: mine\nextends: turn\nbackchannels: {say: [Mhm., I see.], after: 0.5}\n")
    user, tts = ScriptedUser(), ScriptedTTS(durations={"Mhm.": 2.0, "I see.": 2.0})
    for at in (1.0, 2.9, 4.8, 6.7):
        user.says("and so on", at=at, duration=1.5)
    stage = play(user, flow, tts=tts)
    assert times(stage)[:2] == [2.8, 4.8], stage.timeline()
    assert all(
        one.end - one.start == pytest.approx(2.0, abs=0.05) for one in stage.backchannels[:2]
    )
