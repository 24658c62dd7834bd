"""The key `pace` in a session: how long it waits before it answers, goes on, or asks."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent

from turnfsm.fsm import Flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Outcome, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

STORY = "Once upon a time there was a king who had three daughters and no sons."


def flow_of(pace: str) -> Flow:
    text = f"flow: mine\nextends: turn\npace: {pace}\nsilence: {{say: Are you still there?}}\n"
    return parsed(text)


def play(pace: str, user: ScriptedUser, **options: Any) -> Outcome:
    stage = Stage(
        partial(TurnSession, flow=flow_of(pace), proof="off"),
        user=user,
        llm=ScriptedLLM({"story": STORY}, otherwise="Yes?"),
        tts=ScriptedTTS(durations={STORY: 6.0, "Yes?": 0.6}),
        **options,
    )
    outcome = stage.run(25.0)
    assert outcome.errors == [], outcome.timeline()
    return outcome


def begins(pace: str, agent: Any = None, **handling: Any) -> float:
    """When the answer is heard. No reply is started before the turn has ended."""
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    handling = {"preemptive_generation": {"enabled": False}, **handling}
    options = {"agent": agent} if agent else {}
    return play(pace, user, turn_handling=handling, **options).heard[0].start


@pytest.mark.parametrize(("pace", "later"), [("calm", 0.25), ("brisk", -0.2)])
def test_the_turn_ends_in_proportion_to_livekits_delay(pace: str, later: float) -> None:
    """It is 0.5 s at the normal pace."""
    assert begins(pace) - begins("normal") == pytest.approx(later, abs=0.06)


@pytest.mark.parametrize("given_to", ["session", "agent"])
def test_a_delay_that_the_application_gives_stays(given_to: str) -> None:
    options: dict[str, Any] = {"endpointing": {"min_delay": 1.0}}
    if given_to == "agent":
        handling: Any = dict(options)
        options = {"agent": lambda: Agent(instructions="Answer.", turn_handling=handling)}
    assert begins("brisk", **options) == pytest.approx(begins("normal", **options), abs=0.06)


def test_the_other_delay_follows_the_pace() -> None:
    stage = Stage(
        partial(TurnSession, flow=flow_of("brisk"), proof="off"),
        user=ScriptedUser(),
        turn_handling={"endpointing": {"min_delay": 1.0}},
    )
    seen: list[Any] = []
    stage.at(1.0, lambda stage: seen.append(stage.session._activity.endpointing_opts))
    stage.run(2.0)
    assert (seen[0]["min_delay"], seen[0]["max_delay"]) == (1.0, 1.8)


@pytest.mark.parametrize(("pace", "silence"), [("calm", 12.0), ("normal", 8.0), ("brisk", 4.8)])
def test_a_user_who_says_nothing_is_asked_in_proportion(pace: str, silence: float) -> None:
    (asked,) = play(pace, ScriptedUser()).heard
    assert asked.start == pytest.approx(silence + 0.1, abs=0.1)


@pytest.mark.parametrize(("pace", "pause"), [("calm", 3.0), ("normal", 2.0), ("brisk", 1.2)])
def test_the_agent_goes_on_after_a_noise_in_proportion(pace: str, pause: float) -> None:
    user = ScriptedUser().says("tell me a story", at=1.0).makes_noise(at=5.0, duration=0.8)
    _, rest, *_ = play(pace, user).heard
    assert rest.start == pytest.approx(5.8 + 0.25 + pause, abs=0.15)
