"""Tools whose effects are counted outside of the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs
from livekit.agents import RunContext, ToolError, function_tool

from turnfsm.fsm.flow import Policy
from turnfsm.runtime.conversation.policies import on_interruption, repeatable

__all__ = ["ENDS", "FILLER_INTERVAL", "POLICIES", "WAITS", "Job", "JobRun", "Jobs"]

Waits = Literal["", "playout", "says", "replies", "updates", "filler", "interrupts"]
Ends = Literal["returns", "nothing", "raises", "hangs", "hands_off", "invalid"]

WAITS: tuple[Waits, ...] = ("", "playout", "says", "replies", "updates", "filler", "interrupts")
ENDS: tuple[Ends, ...] = ("returns", "nothing", "raises", "hangs", "hands_off", "invalid")
POLICIES: tuple[Policy, ...] = ("detach", "cancel", "finish", "hold")
"""What becomes of a call whose turn is interrupted; a stock session knows nothing of them."""


FILLER_INTERVAL = 2.0
"""Seconds between the fillers of a call."""


@attrs.frozen
class Job:
    """What a tool call does: it works for some seconds, has its effect, and may then speak.

    Attributes:
        number: The argument that names it.
        seconds: How long it works before its effect.
        waits: What it waits for: its preamble (before it works), or what it says itself (after its
            effect).
        after: Seconds until the second half of its effect, like a credit after a debit.
        ends: How it ends.
        policy: What an interruption of its turn does to it.
    """

    number: int
    seconds: float
    waits: Waits = ""
    after: float | None = None
    ends: Ends = "returns"
    policy: Policy = "detach"


@attrs.define
class JobRun:
    """One execution. `end` and `how` are empty while it runs."""

    number: int
    name: str
    start: float
    effect: float | None = None
    """When it took effect."""
    second: float | None = None
    """When the second half of its effect came."""
    end: float | None = None
    how: str = ""


class Jobs:
    """The tools of a conversation, and what they have done."""

    def __init__(self, jobs: Mapping[int, Job]) -> None:
        self.jobs = dict(jobs)
        self.runs: list[JobRun] = []
        self.next_agent: Any = None
        """Makes the agent to which a tool hands over."""
        self.agent_in_charge = ""
        self.handoffs: list[float] = []
        """When another agent took over."""
        self.clock: Callable[[], float] = lambda: 0.0
        """Seconds since the conversation began."""
        self.note: Callable[[str], None] = lambda what: None
        self.tools = [self._tool(policy) for policy in POLICIES]

    def effects(self, number: int) -> int:
        """How often a job took effect."""
        return sum(run.number == number and run.effect is not None for run in self.runs)

    def _tool(self, policy: Policy) -> Any:
        async def tool(context: RunContext[Any], number: int) -> Any:
            """Do a job."""
            return await self._run(context, self.jobs[number])

        tool.__name__ = f"do_{policy}"
        return repeatable(on_interruption(policy)(function_tool(tool)))

    async def _run(self, context: RunContext[Any], job: Job) -> Any:
        now = self.clock
        run = JobRun(job.number, context.function_call.name, now())
        self.runs.append(run)
        try:
            result = await self._work(context, job, run)
        except BaseException as error:
            run.end, run.how = now(), type(error).__name__
            raise
        run.end, run.how = now(), "result"
        return result

    async def _work(self, context: RunContext[Any], job: Job, run: JobRun) -> Any:
        now = self.clock
        if job.waits == "playout":
            await context.wait_for_playout()
        elif job.waits == "updates":
            await context.update(f"n{job.number}")
        if job.waits == "filler":
            async with context.with_filler(
                f"f{job.number}a f{job.number}b.", interval=FILLER_INTERVAL
            ):
                await asyncio.sleep(job.seconds)
        else:
            await asyncio.sleep(job.seconds)
        run.effect = now()
        if job.after is not None:
            await asyncio.sleep(job.after)
            run.second = now()
        await self._talk(context, job)
        return await self._ending(job)

    async def _talk(self, context: RunContext[Any], job: Job) -> None:
        """What is said once the job is done."""
        session = context.session
        if job.waits == "says":
            await session.say(f"s{job.number}a s{job.number}b s{job.number}c s{job.number}d.")
        elif job.waits == "replies":
            await session.generate_reply(instructions=f"tell {job.number}")
        elif job.waits == "interrupts":
            self.note("tool: interrupts")
            session.interrupt()

    async def _ending(self, job: Job) -> Any:
        if job.ends == "hangs":
            await asyncio.get_running_loop().create_future()
        elif job.ends == "raises":
            raise ToolError(f"failed{job.number}")
        elif job.ends == "hands_off":
            return self.next_agent(), f"done{job.number}"
        elif job.ends == "invalid":
            return object()
        return None if job.ends == "nothing" else f"done{job.number}"
