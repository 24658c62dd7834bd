"""S6, S7, S13: a turn of the user is lost."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import Agent, function_tool

from turnfsm.runtime.compare.scenario import Conversations
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

from .checks import late

__all__ = ["TURNS"]

NOTICE = "This call is recorded for quality and training purposes thank you."
QUESTION, ANSWER = "what are your opening hours", "We are open all day."


def _lost(outcome: Outcome, words: str) -> list[str]:
    if any(line.startswith("user:") and words in line for _, line in outcome.items):
        return []
    return [f"what the user said ({words!r}) is in no history"]


def _s6(session_class: type[AgentSession[Any]]) -> Stage:
    def notice(stage: Stage) -> None:
        stage.session.say(NOTICE, allow_interruptions=False)

    user = ScriptedUser().says(QUESTION, at=2.0)
    return Stage(
        session_class,
        user=user,
        llm=ScriptedLLM({"hours": ANSWER}),
        tts=ScriptedTTS(durations={NOTICE: 5.0}),
        turn_handling={"interruption": {"discard_audio_if_uninterruptible": False}},
    ).at(0.5, notice)


def _verdict_s6(outcome: Outcome) -> list[str]:
    problems = _lost(outcome, QUESTION) + late(outcome, ANSWER, 7.0, 3.5, "the user's words end")
    notice = outcome.heard_saying(NOTICE)
    if notice is None:
        problems.append("the uninterruptible notice is not heard in one piece")
    return problems


def _s7(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def look_up() -> str:
        """Look up the account."""
        await asyncio.sleep(6.0)
        return "found"

    def hand_over(stage: Stage) -> None:
        stage.session.update_agent(Agent(instructions="Billing."))

    user = ScriptedUser().says("look up my account", at=1.0).says(QUESTION, at=4.0)
    model = ScriptedLLM(
        {"account": Reply(calls=Call("look_up")), "hours": ANSWER}, {"look_up": "I found it."}
    )
    stage = Stage(session_class, user=user, llm=model, tools=[look_up])
    return stage.at(3.5, hand_over)


def _verdict_s7(outcome: Outcome) -> list[str]:
    return _lost(outcome, QUESTION) + late(outcome, ANSWER, 11.5, 5.5, "the user's words end")


def _s13(session_class: type[AgentSession[Any]]) -> Stage:
    def commit(stage: Stage) -> None:
        stage.session.commit_user_turn()

    user = (
        ScriptedUser()
        .says(QUESTION, at=1.0)
        .makes_noise(at=2.9, duration=0.4)
        .says("and on sunday please", at=8.0)
    )
    model = ScriptedLLM({"sunday": "On Sunday we are closed.", "hours": ANSWER})
    stage = Stage(session_class, user=user, llm=model, turn_handling={"turn_detection": "manual"})
    return stage.at(2.55, commit).at(9.3, commit)


def _verdict_s13(outcome: Outcome) -> list[str]:
    return (
        late(outcome, ANSWER, 4.0, 2.55, "the turn is committed")
        + _lost(outcome, "and on sunday please")
        + late(outcome, "On Sunday we are closed.", 11.0, 9.3, "the second turn is committed")
    )


TURNS: Conversations = {
    "S6": (_s6, _verdict_s6),
    "S7": (_s7, _verdict_s7),
    "S13": (_s13, _verdict_s13),
}
