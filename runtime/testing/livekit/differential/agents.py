"""The agent of a planned conversation, and its model: both do what the plan says and no more."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from livekit.agents import Agent, llm

from turnfsm.runtime.testing.livekit.belief import Call
from turnfsm.runtime.testing.livekit.scripted_llm import Reply, Request

from .jobs import Jobs
from .plan import Plan

__all__ = ["Clerk", "answer"]


class Clerk(Agent):
    """An agent with the plan's tools; it takes over the conversation that there is."""

    def __init__(self, plan: Plan, jobs: Jobs, chat_ctx: Any = None, name: str = "") -> None:
        given = {} if chat_ctx is None else {"chat_ctx": chat_ctx.copy(exclude_instructions=True)}
        super().__init__(instructions=f"Help. {name}", tools=jobs.tools, **given)
        self._plan, self._jobs, self._first = plan, jobs, not name

    async def on_enter(self) -> None:
        self._jobs.agent_in_charge = "1" if self._first else "2"
        if not self._first:
            self.session.say("hello2a hello2b.")
        elif self._plan.greets == "say":
            self.session.say("hello1a hello1b hello1c.")
        elif self._plan.greets == "reply":
            self.session.generate_reply(instructions="greet")

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        if self._plan.hook:
            await asyncio.sleep(self._plan.hook)


def answer(plan: Plan, request: Request) -> Reply:
    """By the last thing that is asked: words of the user, a result, or instructions."""
    text = request.prompt
    if text.startswith("tool"):
        mine = " ".join(entry.text for entry in request.shown if entry.kind == "assistant")
        results = " ".join(entry.text for entry in request.shown if entry.kind == "result")
        news = {int(n) for n in re.findall(r"(?:done|failed|n)(\d+)", results)}
        told = [n for n in sorted(news) if f"t{n}a" not in mine]
        return Reply(" ".join(_sentence("t", n, 4) for n in told) or "t0a t0b.")
    if said := re.findall(r"\bu(\d+)[a-z]", text):
        number = int(said[-1])
        planned = plan.answers.get(number)
        if planned is None:
            return Reply(_sentence("r", number, 4))
        calls = [Call(f"do_{plan.jobs[n].policy}", {"number": n}) for n in planned.jobs]
        return Reply(_sentence("r", number, planned.words), calls=calls, ttft=planned.ttft)
    return Reply(_sentence("g", _number(r"(\d+)", text), 5))


def _number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def _sentence(kind: str, number: int, words: int) -> str:
    """Its words name what it answers."""
    return " ".join(f"{kind}{number}{chr(97 + i)}" for i in range(words)) + "." * bool(words)
