"""LiveKit as a host of the conformance suite."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from livekit.agents import function_tool

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedUser, Stage
from turnfsm.testing.conformance import Answer, Played, Step, Talk, Tool

__all__ = ["ENDPOINTING", "STT", "on_livekit"]

STT = 0.4
"""Seconds from the end of a voice to its transcript."""

ENDPOINTING = 0.8
"""Seconds of silence after which a turn ends."""

BEFORE = 1.0
"""Seconds after which a conversation begins."""


def on_livekit(talk: Talk) -> Played:
    """Play it on a `TurnSession`."""
    user = ScriptedUser()
    for sound in talk.user:
        if sound.says is not None:
            user.says(sound.says, at=BEFORE + sound.at, duration=sound.lasts or 1.0, stt_delay=STT)
        else:
            user.makes_noise(at=BEFORE + sound.at, duration=sound.noise or 0.0)
    llm = ScriptedLLM(
        {words: _reply(answer) for words, answer in talk.answers.items()},
        on_tool={name: talk.results[tool.result] for name, tool in talk.tools.items()},
    )
    effects: list[str] = []
    stage = Stage(
        partial(TurnSession, flow=talk.flow, timers=talk.timers, proof="off"),
        user=user,
        llm=llm,
        tools=[_tool(name, tool, effects) for name, tool in talk.tools.items()],
        turn_handling={"endpointing": {"min_delay": ENDPOINTING, "max_delay": 3.0}},
    )
    for step in talk.do:
        stage.at(BEFORE + step.at, partial(_do, step))
    outcome = stage.run(BEFORE + talk.seconds)
    assert isinstance(stage.session, TurnSession)
    heard = " ".join(played.text.strip() for played in outcome.heard)
    return Played(stage.session.turn.journal.read(), heard, effects)


def _reply(answer: Answer | Exception) -> Reply:
    if isinstance(answer, Exception):
        return Reply(error=answer)
    calls = [Call(call.tool, call.arguments) for call in answer.calls]
    return Reply(answer.text, calls=calls, ttft=answer.after)


def _tool(name: str, tool: Tool, effects: list[str]) -> Any:
    async def run() -> str:
        await asyncio.sleep(tool.seconds)
        effects.append(name)
        return tool.result

    made = function_tool(run, name=name, description="A tool.")
    return on_interruption(tool.policy)(made) if tool.policy is not None else made


def _do(step: Step, stage: Stage) -> None:
    if step.interrupt:
        stage.session.interrupt()
    elif step.say is not None:
        stage.session.say(step.say)
