"""Tools whose effects are counted outside of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
from livekit.agents import Agent, RunContext, ToolError, function_tool

from turnfsm.livekit import on_interruption

from .keys import POLICIES
from .script import Job, Script

__all__ = ["INSTRUCTIONS", "Clerk", "Run", "Tools", "tool_name"]

INSTRUCTIONS = "Help."
"""Those of every agent."""


@attrs.define
class Run:
    """One execution of a job for one sentence.

    Attributes:
        job, asked: The numbers of the job and of the sentence that asks for it.
        start: When it began; `effect` and `second`: when the halves of its effect took place.
        end, how: When and how it ended: ``result``, or the name of what was raised.
    """

    job: int
    asked: int
    start: float
    effect: float | None = None
    second: float | None = None
    end: float | None = None
    how: str = ""


def tool_name(job: Job) -> str:
    """Which tool does the job: there is one for each policy."""
    return f"do_{job.policy}"


class Tools:
    """The tools of a conversation, and what they have done."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.runs: list[Run] = []
        self.hooks: list[tuple[float, float]] = []
        self.clock: Callable[[], float] = lambda: 0.0
        self.note: Callable[[str], None] = lambda what: None
        self.tools = [self._tool(policy) for policy in POLICIES]

    def _tool(self, policy: Any) -> Any:
        async def tool(context: RunContext[Any], number: int, asked: int) -> Any:
            """Do a job."""
            run = Run(number, asked, self.clock())
            self.runs.append(run)
            try:
                result = await self._work(context, run)
            except BaseException as error:
                run.end, run.how = self.clock(), type(error).__name__
                raise
            run.end, run.how = self.clock(), "result"
            return result

        tool.__name__ = f"do_{policy}"
        return on_interruption(policy)(function_tool(tool))

    async def _work(self, context: RunContext[Any], run: Run) -> Any:
        job, session = self.script.jobs[run.job], context.session
        if job.does == "playout":
            await context.wait_for_playout()
        elif job.does == "updates":
            await context.update(f"n{run.job}")
        if job.does == "filler":
            async with context.with_filler(f"f{run.job}a f{run.job}b.", interval=2.0):
                await asyncio.sleep(job.seconds)
        else:
            await asyncio.sleep(job.seconds)
        run.effect = self.clock()
        if job.after is not None:
            await asyncio.sleep(job.after)
        run.second = self.clock()
        if job.does == "says":
            await session.say(f"s{run.job}a s{run.job}b s{run.job}c.")
        elif job.does == "replies":
            await session.generate_reply(instructions=f"app{run.job}")
        elif job.does == "interrupts":
            self.note("stop")
            session.interrupt()
        if job.ends == "raises":
            raise ToolError(f"failed{run.job}")
        if job.ends == "hangs_up":
            self.note("hangs up")
            session.shutdown()
        result = f"done{run.job}"
        if job.ends == "hands_off":
            return Clerk(self, session.current_agent.chat_ctx), result
        return None if job.ends == "nothing" else result


class Clerk(Agent):
    """An agent with these tools. One that takes over continues the conversation, and greets."""

    def __init__(self, tools: Tools, chat_ctx: Any = None) -> None:
        given = {} if chat_ctx is None else {"chat_ctx": chat_ctx.copy(exclude_instructions=True)}
        super().__init__(instructions=INSTRUCTIONS, tools=tools.tools, **given)
        self._work, self._script = tools, tools.script
        self._greets = tools.script.greets or chat_ctx is not None

    async def on_enter(self) -> None:
        if self._greets:
            self.session.say("hello1 hello2.")

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        if not self._script.hook:
            return
        begun = self._work.clock()
        try:
            await asyncio.sleep(self._script.hook)
        finally:
            self._work.hooks.append((begun, self._work.clock()))
