"""Conversations that go right on `AgentSession`, too: they show that the test kit is correct."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import function_tool

from turnfsm.runtime.compare.scenario import Scenario
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

from .agent_state import wrong_agent_states
from .checks import late, wrong_contexts

__all__ = ["CONTROL_SCENARIOS"]

STORY = "Once upon a time there was a king who had three daughters and no sons."


def _sound(outcome: Outcome) -> list[str]:
    """What no conversation may show: wrong agent states, logged errors, tasks left over."""
    problems = wrong_agent_states(outcome) + [
        f"logged at {t:.2f} s: {e}" for t, e in outcome.errors
    ]
    return problems + [f"the task {name} outlives the session" for name in outcome.orphans]


def _story(session_class: type[AgentSession[Any]], user: ScriptedUser, **options: Any) -> Stage:
    model = ScriptedLLM({"story": STORY, "stop": "All right."})
    tts = ScriptedTTS(durations={STORY: 6.0})
    return Stage(
        session_class, user=user.says("tell me a story", at=1.0), llm=model, tts=tts, **options
    )


def _plain(session_class: type[AgentSession[Any]]) -> Stage:
    return _story(session_class, ScriptedUser())


def _verdict_plain(outcome: Outcome) -> list[str]:
    return _sound(outcome) + late(outcome, STORY, 3.2, 2.2, "the user's words end")


def _barge_in(session_class: type[AgentSession[Any]]) -> Stage:
    return _story(session_class, ScriptedUser().says("stop please", at=4.0, duration=1.0))


def _barge_in_hard(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("stop please", at=4.0, duration=1.0)
    return _story(session_class, user, can_pause=False)


def _verdict_barge_in(outcome: Outcome) -> list[str]:
    problems = _sound(outcome) + late(outcome, "All right.", 6.1, 5.0, "the barge-in ends")
    story = outcome.heard[0]
    if not 4.4 < story.end < 4.7:
        problems.append(f"the story is heard until {story.end:.2f} s, the user speaks at 4.00 s")
    if not any(story.text in line and "interrupted" in line for line in outcome.context):
        problems.append(f"the context does not hold what was heard, {story.text!r}")
    return problems


def _backchannel(session_class: type[AgentSession[Any]]) -> Stage:
    return _story(session_class, ScriptedUser().makes_noise(at=4.0, duration=0.7))


def _verdict_backchannel(outcome: Outcome) -> list[str]:
    problems = _sound(outcome)
    if [resumed for _, resumed in outcome.false_interruptions] != [True]:
        problems.append(f"false interruptions: {outcome.false_interruptions}")
    if len(outcome.heard) != 2 or " ".join(h.text for h in outcome.heard) != STORY:
        problems.append(f"the story is not heard whole, in two parts: {outcome.heard}")
    return problems


def _tool(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def look_up(city: str) -> str:
        """Look up the weather.

        Args:
            city: where
        """
        await asyncio.sleep(2.0)
        return f"rain in {city}"

    model = ScriptedLLM(
        {"weather": Reply("Let me see.", calls=Call("look_up", {"city": "Rome"}))},
        {"look_up": "It rains."},
    )
    user = ScriptedUser().says("what is the weather", at=1.0)
    return Stage(session_class, user=user, llm=model, tools=[look_up])


def _verdict_tool(outcome: Outcome) -> list[str]:
    problems = _sound(outcome) + wrong_contexts(outcome)
    if [(t.name, t.status, t.message) for t in outcome.tools] != [
        ("look_up", "done", "rain in Rome")
    ]:
        problems.append(f"the tool runs: {outcome.tools}")
    return problems + late(outcome, "It rains.", 6.0, 2.2, "the question ends")


def _announcement(session_class: type[AgentSession[Any]]) -> Stage:
    def announce(stage: Stage) -> None:
        stage.session.say(STORY, allow_interruptions=False)

    tts = ScriptedTTS(durations={STORY: 6.0})
    return Stage(session_class, tts=tts).at(1.0, announce)


def _verdict_announcement(outcome: Outcome) -> list[str]:
    return _sound(outcome) + late(outcome, STORY, 1.2, 1.0, "the announcement")


def _control(id: str, title: str, build: Any, verdict: Any) -> Scenario:
    return Scenario(id, title, 15.0, build, verdict, control=True)


CONTROL_SCENARIOS = (
    _control("C1", "a plain turn", _plain, _verdict_plain),
    _control("C2", "a barge-in: paused, then interrupted", _barge_in, _verdict_barge_in),
    _control(
        "C2-hard", "a barge-in on an output that cannot pause", _barge_in_hard, _verdict_barge_in
    ),
    _control("C3", "noise over speech: paused, then resumed", _backchannel, _verdict_backchannel),
    _control("C4", "a tool with a spoken answer", _tool, _verdict_tool),
    _control(
        "C5", "an uninterruptible speech, the user silent", _announcement, _verdict_announcement
    ),
)
