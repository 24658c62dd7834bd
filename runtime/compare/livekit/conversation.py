"""Makes a conversation of an entry in `scenarios.yaml`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from livekit.agents import Agent, APIConnectionError, RunContext, function_tool

from turnfsm.runtime.compare.scenario import Build
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

__all__ = ["conversation_of"]


def conversation_of(entry: dict[str, Any]) -> Build:
    """How to play an entry. Removes from it what it uses.

    Args:
        entry: The sounds of the `user`; what the `model` says, by a part of the user's text, and by
            the tool whose result it gets (`on_tool`); the `tools`; what the application is to `do`;
            the arguments of the `voice`, and further ones of the `stage`.
    """
    given = {key: entry.pop(key) for key in _PARTS if key in entry}
    return partial(_stage, given)


_PARTS = ("user", "model", "on_tool", "tools", "do", "voice", "stage")


def _stage(given: Mapping[str, Any], session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser()
    for sound in given.get("user", ()):
        if "says" in sound:
            user.says(sound["says"], at=sound["at"], duration=sound.get("lasts"))
        else:
            user.makes_noise(at=sound["at"], duration=sound["noise"])
    answers, results = (
        {key: _reply(of) for key, of in given.get(part, {}).items()}
        for part in ("model", "on_tool")
    )
    stage = Stage(
        session_class,
        user=user,
        llm=ScriptedLLM(answers, results),
        tts=ScriptedTTS(**given.get("voice", {})),
        tools=[_tool(name, **of) for name, of in given.get("tools", {}).items()],
        **given.get("stage", {}),
    )
    for step in given.get("do", ()):
        stage.at(step["at"], partial(_do, step))
    return stage


def _reply(of: str | Mapping[str, Any]) -> Reply:
    if isinstance(of, str):
        return Reply(of)
    calls = [Call(call) if isinstance(call, str) else Call(**call) for call in of.get("calls", ())]
    error = APIConnectionError(of["error"], retryable=False) if "error" in of else None
    return Reply(of.get("text", ""), calls=calls, ttft=of.get("after", 0.2), error=error)


def _tool(name: str, *, seconds: float, result: str, uninterruptible: bool = False) -> Any:
    async def run(context: RunContext[Any], raw_arguments: dict[str, object]) -> str:
        if uninterruptible:
            context.disallow_interruptions()
        await asyncio.sleep(seconds)
        return result

    schema = {"type": "object", "properties": {}}
    return function_tool(run, raw_schema={"name": name, "description": name, "parameters": schema})


async def _do(step: Mapping[str, Any], stage: Stage) -> None:
    session = stage.session
    if step.get("close"):
        await session.aclose()
    elif step.get("commit"):
        session.commit_user_turn()
    elif step.get("hand_over"):
        session.update_agent(Agent(instructions="Billing."))
    elif "reply" in step:
        session.generate_reply(user_input=step["reply"])
    else:
        texts: Sequence[str] = [step["say"]] if isinstance(step["say"], str) else step["say"]
        for text in texts:
            session.say(text, allow_interruptions=step.get("interruptible", True))
