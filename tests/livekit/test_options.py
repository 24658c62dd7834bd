"""The options of `AgentSession` and of agents have the same effect in a `TurnSession`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Outcome,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "Once upon a time there was a king who had three daughters and no sons."
ANSWER = "Good."
RECENT = {"turn_detection": "vad", "min_endpointing_delay": 0.5, "max_endpointing_delay": 3.0}
"""What the stage says in `turn_handling`, in LiveKit's deprecated arguments."""


def _stage(
    session_class: type[AgentSession[Any]],
    *,
    interruption: dict[str, Any] | None = None,
    deprecated: dict[str, Any] | None = None,
    agent: dict[str, Any] | None = None,
    word: bool = True,
) -> Stage:
    """A story of 12 s, a cough at 4 s and a word at 10 s; the options are given in one way."""

    def make(**given: Any) -> AgentSession[Any]:
        if deprecated is not None:
            del given["turn_handling"]  # LiveKit would not look at the others
        return session_class(**given, **(RECENT | deprecated if deprecated is not None else {}))

    user = ScriptedUser().says("tell me a story", at=1.0)
    user.makes_noise(at=4.0, duration=0.9)
    if word:
        user.says("right", at=10.0, duration=0.9)
    return Stage(
        make,  # type: ignore[arg-type]
        user=user,
        llm=ScriptedLLM({"story": STORY, "right": ANSWER}),
        tts=ScriptedTTS(durations={STORY: 12.0}),
        agent=partial(Agent, instructions="Help.", **(agent or {})),
        turn_handling={"interruption": interruption or {}},
    )


def _timeout(seconds: float | None) -> dict[str, Any]:
    return {"false_interruption_timeout": seconds}


WAYS: list[dict[str, Any]] = [
    *({"interruption": _timeout(seconds)} for seconds in (0, 0.3, 4.0, None)),
    *({"deprecated": _timeout(seconds)} for seconds in (0, 0.3, 4.0, None)),
    {"deprecated": {"agent_false_interruption_timeout": 4.0}},
    {"deprecated": {"resume_false_interruption": False}},
    {"deprecated": {"min_interruption_duration": 1.2}},
    {"deprecated": {"min_interruption_words": 2}},
    {"deprecated": {"allow_interruptions": False}},
    {"deprecated": {"preemptive_generation": False}},
    {"interruption": {"min_duration": 1.2}},
    {"interruption": {"enabled": False}},
    {"agent": {"turn_handling": {"interruption": {"enabled": False}}}},
    {"agent": {"turn_handling": {"interruption": _timeout(0.3)}}},  # LiveKit does not look at it
    {"agent": {"turn_handling": {"endpointing": {"min_delay": 1.5}}}},
    {"agent": {"turn_handling": {"preemptive_generation": {"enabled": False}}}},
    {"agent": {"min_endpointing_delay": 1.5}},
    {"agent": {"allow_interruptions": False}},
]


def _assert_heard_alike(ours: Outcome, stock: Outcome) -> None:
    """The answer to the word that interrupts is asked for ahead, and may come sooner."""
    heard = [[t for h in outcome.heard for t in (h.start, h.end)] for outcome in (stock, ours)]
    if ours.heard_saying(ANSWER) is not None and not ours.heard_saying(STORY):
        sooner = heard[0][-1] - heard[1][-1]
        assert -0.02 <= sooner <= 0.25, ours.timeline()
        heard[1][-2:] = [at + sooner for at in heard[1][-2:]]
    assert heard[1] == pytest.approx(heard[0], abs=0.02), ours.timeline()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "way", WAYS, ids=lambda way: str(way).translate({ord(c): None for c in "'{}"})
)
def test_options_have_the_effect_that_they_have_on_agent_session(way: dict[str, Any]) -> None:
    """Heard at the same moments, within the time of a frame."""
    stock, ours = (_stage(cls, **way).run(18.0) for cls in (AgentSession, TurnSession))
    _assert_heard_alike(ours, stock)
    assert len(ours.false_interruptions) == len(stock.false_interruptions)


@pytest.mark.parametrize("seconds", [0.3, 4.0, None])
def test_a_timeout_that_is_changed_while_the_session_runs_holds_from_then_on(
    seconds: float | None,
) -> None:
    """An application changes it in `session.options`, a second before the cough."""

    def change(stage: Stage) -> None:
        stage.session.options.interruption["false_interruption_timeout"] = seconds

    stages = [_stage(session_class) for session_class in (AgentSession, TurnSession)]
    stock, ours = (stage.at(3.0, change).run(18.0) for stage in stages)
    _assert_heard_alike(ours, stock)
    assert len(ours.false_interruptions) == len(stock.false_interruptions)


def test_a_pause_may_be_longer_than_the_limit_of_the_flow() -> None:
    """A false_interruption_timeout of 65 s: pause_limit, 60 s, does not cut the speech before."""
    stages = [
        _stage(session_class, interruption=_timeout(65.0), word=False)
        for session_class in (AgentSession, TurnSession)
    ]
    stock, ours = (stage.run(85.0) for stage in stages)
    assert [h.start for h in ours.heard] == pytest.approx([h.start for h in stock.heard], abs=0.02)


@pytest.mark.parametrize(
    ("options", "timers", "seconds"),
    [
        ({}, {}, 1.0),
        ({"interruption": _timeout(2.0)}, {}, 2.0),
        ({"deprecated": _timeout(2.0)}, {}, 2.0),
        ({"interruption": _timeout(2.0)}, {"false_interruption": 2.4}, 2.4),
    ],
    ids=["flow", "turn_handling", "deprecated", "timers"],
)
def test_the_timer_is_the_applications_before_the_flows(
    options: dict[str, Any], timers: dict[str, float], seconds: float, tmp_path: Path
) -> None:
    """The flow's own seconds hold until the application says any, LiveKit's default included."""
    flow = tmp_path / "mine.yaml"
    flow.write_text("flow: mine\nextends: turn\ntimers: {false_interruption: 1.0}\n")
    session: Any = partial(TurnSession, flow=flow, proof="off", timers=timers)
    outcome = _stage(session, **options).run(9.0)
    assert outcome.false_interruptions[0][0] == pytest.approx(5.15 + seconds, abs=0.02)
