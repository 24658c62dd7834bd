"""S1d, S6b, S3: the published state or the pause differs from what is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit.agents import RunContext, function_tool

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

__all__ = ["AGENT_STATE", "wrong_agent_states"]

LONG = "There is a lot that I can tell you about this city today."


def wrong_agent_states(outcome: Outcome) -> list[str]:
    """Stretches in which the published state and the audio output disagree."""
    return [
        f"{'audio is heard' if label != 'speaking' else 'nothing is heard'} from {start:.2f} "
        f"to {end:.2f} s while the agent's state is {label!r}"
        for start, end, label in outcome.wrong_agent_states()
    ]


def _s1d(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def transfer_money(context: RunContext[Any]) -> str:
        """Transfer the money."""
        context.disallow_interruptions()
        await asyncio.sleep(5.5)
        return "transferred"

    user = ScriptedUser().says("transfer the money", at=1.0).says("tell me about Rome", at=4.0)
    model = ScriptedLLM(
        {"transfer": Reply(calls=Call("transfer_money")), "Rome": LONG},
        {"transfer_money": "The money is on its way."},
    )
    tts = ScriptedTTS(durations={LONG: 3.0})
    return Stage(session_class, user=user, llm=model, tts=tts, tools=[transfer_money])


def _verdict_s1d(outcome: Outcome) -> list[str]:
    problems = wrong_agent_states(outcome)
    if outcome.heard_saying(LONG) is None:
        problems.append(f"{LONG!r} is not heard in one piece")
    return problems


def _s6b(session_class: type[AgentSession[Any]]) -> Stage:
    def announce(stage: Stage) -> None:
        stage.session.say(LONG)

    def queue(stage: Stage) -> None:
        stage.session.generate_reply(user_input="and the weather")

    model = ScriptedLLM({"weather": "It is sunny."})
    tts = ScriptedTTS(durations={LONG: 5.0})
    return Stage(session_class, llm=model, tts=tts).at(1.0, announce).at(3.0, queue)


def _verdict_s6b(outcome: Outcome) -> list[str]:
    problems = wrong_agent_states(outcome)
    if outcome.heard_saying("It is sunny.") is None:
        problems.append("the queued reply is never heard")
    return problems


@function_tool
async def look_up() -> str:
    """Look it up."""
    await asyncio.sleep(0.5)
    return "rain"


def _s3(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("what is the weather", at=1.0).makes_noise(at=4.0, duration=0.8)
    model = ScriptedLLM(
        {"weather": Reply(calls=Call("look_up"), ttft=6.0)}, {"look_up": "It rains."}
    )
    return Stage(session_class, user=user, llm=model, tools=[look_up])


def _s3b(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says("what is the weather", at=1.0).makes_noise(at=6.0, duration=0.8)
    model = ScriptedLLM(
        {"weather": Reply(text="Let me see.", calls=Call("look_up"))},
        {"look_up": Reply("It rains.", ttft=6.0)},
    )
    return Stage(session_class, user=user, llm=model, tools=[look_up])


def _verdict_s3(noise_at: float) -> Callable[[Outcome], list[str]]:
    def verdict(outcome: Outcome) -> list[str]:
        problems = [
            f"a false interruption is reported at {at:.2f} s (resumed={resumed}), though no "
            "audio of that step was ever heard"
            for at, resumed in outcome.false_interruptions
        ]
        problems += [
            f"noise makes the agent's state {state!r} at {at:.2f} s while the step goes on"
            for at, state in outcome.agent_states
            if state == "listening" and noise_at < at < noise_at + 3.0
        ]
        if outcome.heard_saying("It rains.") is None:
            problems.append("the answer is never heard")
        return problems

    return verdict


AGENT_STATE: Conversations = {
    "S1d": (_s1d, _verdict_s1d),
    "S6b": (_s6b, _verdict_s6b),
    "S3": (_s3, _verdict_s3(4.0)),
    "S3b": (_s3b, _verdict_s3(6.0)),
}
