"""A stage keeps what its session factory sets, and says so where the two disagree."""

import re
from functools import partial
from typing import Any

import pytest
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.errors import KitError
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedUser, ScriptedVAD, Stage

CLASSES = [AgentSession, TurnSession]


def settings(stage: Stage) -> tuple[Any, Any]:
    """What the session was really made with."""
    stage.run(0.5)
    return stage.session.options.user_away_timeout, stage.session.options.interruption


@pytest.mark.parametrize("session_class", CLASSES)
def test_the_settings_of_a_factory_are_those_of_the_session(session_class: Any) -> None:
    """Only where the factory says nothing the stage has defaults of its own."""
    handling = {"interruption": {"min_words": 3}}
    factory: Any = partial(session_class, user_away_timeout=8.0, turn_handling=handling)
    stage = Stage(factory)
    away, interruption = settings(stage)
    assert (away, interruption["min_words"]) == (8.0, 3)
    assert stage.session.options.turn_handling["turn_detection"] == "vad"
    assert stage.session.options.turn_handling["endpointing"]["min_delay"] == 0.5


@pytest.mark.parametrize("session_class", CLASSES)
def test_without_a_factory_the_away_timer_is_off(session_class: Any) -> None:
    """And a nested `partial` counts like one."""
    assert settings(Stage(session_class))[0] is None
    nested: Any = partial(partial(session_class, user_away_timeout=8.0), max_tool_steps=2)
    assert settings(Stage(nested))[0] == 8.0


def test_a_default_of_a_subclass_is_kept() -> None:
    """It is what the application runs with."""

    class Patient(TurnSession[Any]):
        def __init__(self, *, user_away_timeout: float | None = 60.0, **options: Any) -> None:
            super().__init__(user_away_timeout=user_away_timeout, **options)

    assert settings(Stage(Patient))[0] == 60.0
    assert settings(Stage(partial(Patient, user_away_timeout=9.0)))[0] == 9.0  # type: ignore[arg-type]


def test_settings_of_factory_and_stage_are_merged_name_by_name() -> None:
    """Those of turn handling and the timers, too."""
    factory: Any = partial(
        TurnSession,
        timers={"tool_limit": 20.0},
        turn_handling={"interruption": {"min_words": 3}},
    )
    stage = Stage(
        factory,
        timers={"settle": 0.4},
        turn_handling={"interruption": {"min_words": 3, "min_duration": 0.7}},
    )
    _, interruption = settings(stage)
    assert (interruption["min_words"], interruption["min_duration"]) == (3, 0.7)
    session: Any = stage.session
    assert (session.timers["tool_limit"], session.timers["settle"]) == (20.0, 0.4)


@pytest.mark.parametrize(
    ("own", "given", "said"),
    [
        (
            {"user_away_timeout": 8.0},
            {"user_away_timeout": 5.0},
            "user_away_timeout is 8.0 in the session factory and 5.0 in Stage(...)",
        ),
        (
            {"turn_handling": {"turn_detection": "manual"}},
            {"turn_handling": {"turn_detection": "stt"}},
            "turn_handling['turn_detection'] is 'manual' in the session factory and 'stt'",
        ),
        (
            {"timers": {"settle": 1.0}},
            {"timers": {"settle": 2.0}},
            "timers['settle'] is 1.0 in the session factory and 2.0",
        ),
        (
            {"min_interruption_words": 2},
            {},
            "write it as turn_handling['interruption']['min_words']",
        ),
        ({}, {"turn_detection": "manual"}, "write it as turn_handling['turn_detection']"),
        ({"turn_handling": {"endpoint": {}}}, {}, "did you mean 'endpointing'?"),
        ({"llm": ScriptedLLM()}, {"llm": ScriptedLLM()}, "llm is given by the session factory"),
        ({"llm": "openai/gpt"}, {}, "a stage can play only a ScriptedLLM; leave llm out of"),
    ],
)
def test_what_cannot_be_kept_is_refused(own: Any, given: Any, said: str) -> None:
    """Never played with other values."""
    with pytest.raises(KitError, match=re.escape(said)):
        Stage(partial(TurnSession, **own), **given)


def test_scripted_models_of_a_factory_are_played() -> None:
    """And a factory without a VAD has none."""
    model, user = ScriptedLLM({"hello": "Hi there."}), ScriptedUser().says("hello", at=0.5)
    factory: Any = partial(TurnSession, llm=model)
    stage = Stage(factory, user=user)
    assert stage.llm is model
    assert [heard.text for heard in stage.run(6.0).heard] == ["Hi there."]
    without: Any = partial(TurnSession, vad=None)
    assert Stage(without).vad is None
    vad = ScriptedVAD()
    assert Stage(without, vad=None, turn_handling={"turn_detection": "stt"}).vad is None
    assert Stage(TurnSession, vad=vad).vad is vad
