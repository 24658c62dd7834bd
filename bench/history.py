"""How long a session blocks the event loop for a result after a long conversation."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Any
from unittest.mock import patch

from livekit.agents import Agent, AgentSession, function_tool, llm

from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

from .caller import sides

__all__ = ["stall"]

_MODEL = "LLM._main_task"
"""LiveKit's name for the task of a model, whose work is not measured."""


def stall(rounds: int, calls: int) -> dict[str, float]:
    """Seconds of CPU time of the longest step of the loop from the result of a call on: `sides`.

    Args:
        rounds: How often it is played on each session, in turn.
        calls: How many calls were made before, each in an exchange of its own.
    """
    return sides(rounds, lambda session: max(_steps(session, calls)))


def _steps(session: type[AgentSession[Any]], calls: int) -> list[float]:
    """The CPU time of each step of the loop from the result on."""
    steps: list[float] = []
    ended = False

    @function_tool
    async def look_up(query: str) -> str:
        """Look something up."""
        nonlocal ended
        await asyncio.sleep(1.0)
        ended = True
        return "found"

    step = asyncio.Handle._run

    def timed(handle: Any) -> None:
        begun = time.thread_time()
        task = getattr(handle._callback, "__self__", None)
        step(handle)
        of_model = isinstance(task, asyncio.Task) and task.get_name() == _MODEL
        if ended and not of_model:
            steps.append(time.thread_time() - begun)

    user = ScriptedUser().says("look it up", at=0.5)
    call = Reply("One moment please.", calls=Call("look_up", {"query": "it"}))
    model = ScriptedLLM({"look": call}, {"look_up": "It is there."})
    history = _history(calls)
    agent = Agent(instructions="Help.", chat_ctx=history, tools=[look_up])
    stage = Stage(session, user=user, llm=model, agent=agent)
    stage.at(8.0, lambda _: _ends())
    gc.collect()

    def _ends() -> None:
        nonlocal ended
        ended = False  # the close is not measured

    with patch.object(asyncio.Handle, "_run", timed):
        stage.run(9.0)
    return steps


def _history(calls: int) -> llm.ChatContext:
    items: list[llm.ChatItem] = []
    for n in range(calls):
        call, at = f"call_{n}", float(n)
        asked = llm.ChatMessage(role="user", content=[f"question {n}"], created_at=at)
        made = llm.FunctionCall(
            call_id=call, name="look_up", arguments=f'{{"query": "{n}"}}', created_at=at + 0.1
        )
        result = llm.FunctionCallOutput(
            call_id=call, name="look_up", output="found", is_error=False, created_at=at + 0.2
        )
        said = llm.ChatMessage(role="assistant", content=[f"answer {n}"], created_at=at + 0.3)
        items += [asked, made, result, said]
    return llm.ChatContext(items)
