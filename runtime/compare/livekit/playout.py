"""Playout: outputs that do not report, cannot pause or are held, and TTS that breaks off."""

from __future__ import annotations

from typing import Any

from livekit.agents import APIConnectionError

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

from .agent_state import wrong_agent_states
from .checks import late

__all__ = ["PLAYOUT"]

NOTICE = "Your call is important to us."
NEXT = "What can I do for you?"
STORY = "Once upon a time there was a king who had three daughters and no sons."
LIMIT = 10.0


def _no_end(session_class: type[AgentSession[Any]]) -> Stage:
    def notice(stage: Stage) -> None:
        stage.session.say(NOTICE)
        stage.session.say(NEXT)

    tts = ScriptedTTS(durations={NOTICE: 3.0})
    timers = {"speaking_limit": LIMIT}
    return Stage(session_class, tts=tts, faults=["no_end"], timers=timers).at(1.0, notice)


def _verdict_no_end(outcome: Outcome) -> list[str]:
    problems = late(outcome, NEXT, 4.1 + LIMIT + 1.0, 4.1, "the notice ends")
    if not problems and not outcome.warnings:
        problems.append("nobody is told that the output did not report its end")
    return problems


def _tts_breaks(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("tell me a story", at=1.0).says("go on please", at=10.0)
    tts = ScriptedTTS(durations={STORY: 6.0}, failures={STORY: 2.0})
    model = ScriptedLLM({"story": STORY, "go on": "The eldest loved salt."})
    return Stage(session_class, user=user, llm=model, tts=tts)


def _verdict_tts_breaks(outcome: Outcome) -> list[str]:
    problems = late(outcome, "The eldest loved salt.", 12.5, 10.9, "the user's words end")
    said = [line for line in outcome.context if line.startswith("assistant: Once")]
    heard = outcome.heard[0].text if outcome.heard else ""
    if not said or not heard.startswith("Once"):
        problems.append(f"the user heard {heard!r} and the conversation does not hold it")
    elif "no sons" in said[0]:
        problems.append(f"the user heard {heard!r}, the conversation holds {said[0]!r}")
    return problems


def _llm_breaks(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("tell me a story", at=1.0).says("are you there", at=8.0)
    error = APIConnectionError("gone", retryable=False)
    model = ScriptedLLM({"story": Reply("Well.", error=error), "there": "Yes I am."})
    return Stage(session_class, user=user, llm=model)


def _verdict_llm_breaks(outcome: Outcome) -> list[str]:
    return wrong_agent_states(outcome) + late(
        outcome, "Yes I am.", 10.0, 8.9, "the user's words end"
    )


def _held(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("tell me a story", at=1.0).makes_noise(at=2.6, duration=0.6)
    model = ScriptedLLM({"story": STORY})
    return Stage(session_class, user=user, llm=model, tts=ScriptedTTS(durations={STORY: 6.0}))


def _verdict_held(outcome: Outcome) -> list[str]:
    problems = wrong_agent_states(outcome)
    story = outcome.heard[0] if outcome.heard else None
    if story is None or not 3.2 <= story.start <= 3.9:
        when = "never" if story is None else f"at {story.start:.2f} s"
        problems.append(f"the user is loud from 2.60 to 3.20 s, the reply begins {when}")
    if outcome.false_interruptions:
        problems.append("a false interruption is reported, though nothing had been heard")
    if " ".join(h.text for h in outcome.heard) != STORY:
        problems.append(f"the story is not heard whole: {outcome.heard_lines}")
    return problems


def _segments(session_class: type[AgentSession[Any]]) -> Stage:
    def speak(stage: Stage) -> None:
        stage.session.say(NOTICE)
        stage.session.say(STORY)

    tts = ScriptedTTS(durations={STORY: 6.0, NOTICE: 3.0})
    user = ScriptedUser().makes_noise(at=3.4, duration=0.8)
    return Stage(session_class, user=user, tts=tts).at(1.0, speak)


def _verdict_segments(outcome: Outcome) -> list[str]:
    problems = wrong_agent_states(outcome)
    if " ".join(h.text for h in outcome.heard if h.text) != f"{NOTICE} {STORY}":
        problems.append(f"not all is heard: {outcome.heard_lines}")
    if len(outcome.false_interruptions) > 1:
        problems.append(f"one noise, {len(outcome.false_interruptions)} false interruptions")
    return problems


def _cannot_pause(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("tell me a story", at=1.0).makes_noise(at=4.0, duration=0.8)
    user.says("go on please", at=9.0)
    model = ScriptedLLM({"story": STORY, "go on": "The eldest loved salt."})
    tts = ScriptedTTS(durations={STORY: 6.0})
    return Stage(session_class, user=user, llm=model, tts=tts, can_pause=False)


def _verdict_cannot_pause(outcome: Outcome) -> list[str]:
    problems = wrong_agent_states(outcome)
    problems += late(outcome, "The eldest loved salt.", 11.2, 9.9, "the user's words end")
    heard = outcome.heard[0].text
    if not any(line == f"assistant: {heard} (interrupted)" for line in outcome.context):
        problems.append(f"the user heard {heard!r}, the conversation holds {outcome.context}")
    if any(resumed for _, resumed in outcome.false_interruptions):
        problems.append("a resumption is reported on an output that cannot pause")
    return problems


PLAYOUT: Conversations = {
    "P1": (_no_end, _verdict_no_end),
    "P2": (_tts_breaks, _verdict_tts_breaks),
    "P3": (_llm_breaks, _verdict_llm_breaks),
    "P4": (_held, _verdict_held),
    "P5": (_segments, _verdict_segments),
    "P6": (_cannot_pause, _verdict_cannot_pause),
}
