"""Who takes part in a random conversation: agents, tasks, tools and a model, all drawn by seed."""

from __future__ import annotations

import asyncio
import itertools
from random import Random
from typing import Any

import attrs
from livekit.agents import (
    Agent,
    AgentTask,
    APIConnectionError,
    RunContext,
    StopResponse,
    function_tool,
    llm,
)

from turnfsm.livekit import on_interruption, once
from turnfsm.runtime.testing.livekit import Call, Reply
from turnfsm.runtime.testing.livekit.scripted_llm import Request

POLICIES = ("detach", "cancel", "finish", "hold", "again")
ENDS = ("returns", "returns", "returns", "raises", "nothing", "strange", "hangs")
WAITS = ("", "", "", "playout", "commits", "says", "updates")
DEEPEST = 3
"""How many steps of one turn call tools."""


@attrs.define
class Deed:
    """What a tool call does."""

    number: int
    ends: str
    waits: str
    seconds: float


@attrs.define
class Run:
    """One execution of a tool; `end` and `how` stay empty while it runs."""

    call_id: str
    name: str
    number: int
    start: float
    end: float = float("inf")
    how: str = ""


@attrs.frozen
class Odds:
    """How wild a conversation is."""

    calls: float = 0.4
    handoffs: float = 0.3
    faults: frozenset[str] = frozenset()


class Cast:
    """The agent's side of one conversation; everything that it does is drawn from `draws`."""

    def __init__(self, draws: Random, odds: Odds) -> None:
        self.draws, self.odds = draws, odds
        self.deeds: dict[int, Deed] = {}
        self.runs: list[Run] = []
        self.errand: Errand | None = None
        self.answers = self.answer
        self._numbers = itertools.count(1)
        self._texts = itertools.count(1)
        self.tools = [*(self._tool(policy) for policy in POLICIES), *self._movers()]

    # -- the model

    def words(self, most: int = 12) -> str:
        """A sentence that is said once: its words name it."""
        number = next(self._texts)
        return " ".join(f"a{number}{chr(97 + i)}" for i in range(self.draws.randint(1, most))) + "."

    def answer(self, request: Request) -> Reply:
        """What the model says to a request."""
        draws, faults = self.draws, self.odds.faults
        ttft = draws.choice((0.05, 0.2, 0.2, 0.5, 2.0))
        if "llm_hangs" in faults and draws.random() < 0.1:
            return Reply("never", ttft=10_000.0)
        if "llm_fails" in faults and draws.random() < 0.15:
            text = self.words() if draws.random() < 0.5 else ""
            failure = APIConnectionError("the model fails", retryable=draws.random() < 0.5)
            return Reply(text, ttft=ttft, error=failure)
        calls = self._calls(request)
        text = self.words() if not calls or draws.random() < 0.4 else ""
        return Reply(text, calls=calls, ttft=ttft, duration=draws.choice((0.05, 0.1, 1.0)))

    def _calls(self, request: Request) -> list[Call]:
        deep = sum(1 for _ in itertools.takewhile(_no_user, reversed(request.chat_ctx.items)))
        if deep > 2 * DEEPEST or self.draws.random() > self.odds.calls:
            return []
        if self.draws.random() < self.odds.handoffs:
            return [Call(self.draws.choice(("transfer", "collect", "finish_errand")))]
        many = self.draws.choice((1, 1, 1, 2, 3))
        return [Call(self.draws.choice(POLICIES), {"number": self._deed()}) for _ in range(many)]

    def _deed(self) -> int:
        if self.deeds and self.draws.random() < 0.1:
            return self.draws.choice(list(self.deeds))  # the same call once more
        number, draws = next(self._numbers), self.draws
        ends = [e for e in ENDS if e != "hangs" or "tool_hangs" in self.odds.faults]
        seconds = draws.choice((0.0, 0.05, 0.5, 1.5, 3.0, 6.0))
        self.deeds[number] = Deed(number, draws.choice(ends), draws.choice(WAITS), seconds)
        return number

    # -- the tools

    @property
    def running(self) -> bool:
        """A tool is at work."""
        return any(not run.how for run in self.runs)

    def _tool(self, policy: str) -> Any:
        async def tool(context: RunContext, number: int) -> Any:
            """Do a deed."""
            return await self._do(context, number)

        tool.__name__ = policy
        made = function_tool(tool)
        return made if policy == "again" else once(on_interruption(policy)(made))  # type: ignore[arg-type]

    async def _do(self, context: RunContext, number: int) -> Any:
        now = asyncio.get_running_loop().time
        call = context.function_call
        run = Run(call.call_id, call.name, number, now())
        self.runs.append(run)
        try:
            result = await self._act(context, self.deeds[number])
        except BaseException as error:
            run.end, run.how = now(), type(error).__name__
            raise
        run.end, run.how = now(), "result"
        return result

    async def _act(self, context: Any, deed: Deed) -> Any:
        if deed.waits == "playout":
            await context.wait_for_playout()
        elif deed.waits == "says":
            await context.session.say(self.words())
        elif deed.waits == "updates":
            await context.update(f"u{deed.number}")
        await asyncio.sleep(deed.seconds)
        if deed.waits == "commits":
            await context.commit_point()
        if deed.ends == "hangs":
            await asyncio.get_running_loop().create_future()
        if deed.ends == "raises":
            raise LookupError(f"d{deed.number}")
        return {"nothing": None, "strange": object()}.get(deed.ends, f"d{deed.number}")

    def _movers(self) -> list[Any]:
        @function_tool
        async def transfer(context: RunContext) -> Any:
            """Hand over to another agent."""
            await asyncio.sleep(self.draws.choice((0.0, 0.0, 1.0)))
            return Caller(self), "transferred"

        @function_tool
        async def collect(context: RunContext) -> str:
            """Have a task done by an agent of its own."""
            return await Errand(self)

        @function_tool
        async def finish_errand(context: RunContext) -> str:
            """End the task that is under way."""
            if self.errand is None or self.errand.done():
                return "there is none"
            self.errand.complete("by the model")
            return "done"

        return [transfer, collect, finish_errand]


class Caller(Agent):
    """An agent that sometimes takes its time, and sometimes fails."""

    def __init__(self, cast: Cast) -> None:
        super().__init__(instructions="Help.", tools=cast.tools)
        self.cast = cast

    async def on_enter(self) -> None:
        await greet(self)

    async def on_exit(self) -> None:
        if "hooks" in self.cast.odds.faults and self.cast.draws.random() < 0.2:
            raise LookupError("on_exit fails")

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        draws, faults = self.cast.draws, self.cast.odds.faults
        if draws.random() < 0.2:
            await asyncio.sleep(draws.choice((0.05, 1.0, 4.0)))
        if "hooks" in faults and draws.random() < 0.1:
            raise LookupError("on_user_turn_completed fails")
        if "hooks" in faults and draws.random() < 0.1:
            raise StopResponse


class Errand(AgentTask[str]):
    """A task within a conversation; it ends by itself at last."""

    def __init__(self, cast: Cast) -> None:
        super().__init__(instructions="Do this.", tools=cast.tools)
        self.cast = cast
        cast.errand = self

    async def on_enter(self) -> None:
        seconds = self.cast.draws.choice((0.0, 0.5, 3.0, 8.0))
        await greet(self)
        await asyncio.sleep(seconds)
        if not self.done():
            self.complete("by itself")


async def greet(agent: Caller | Errand) -> None:
    """What an agent does when it enters."""
    cast = agent.cast
    what = cast.draws.choice(("", "", "say", "reply", "wait", "wait_for_say"))
    if what == "wait":
        await asyncio.sleep(cast.draws.choice((0.05, 2.0)))
    elif what == "reply":
        agent.session.generate_reply(instructions="greet")
    elif what:
        said = agent.session.say(cast.words())
        if what == "wait_for_say":
            await said
    if "hooks" in cast.odds.faults and cast.draws.random() < 0.1:
        raise LookupError("on_enter fails")


def _no_user(item: Any) -> bool:
    return item.type != "message" or item.role != "user"
