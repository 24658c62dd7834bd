"""The agent, its tool and its model for a path. Each waits for its cue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any

from livekit import rtc
from livekit.agents import Agent, FlushSentinel, ModelSettings, RunContext, function_tool, llm

from turnfsm.runtime.conversation.policies import on_interruption
from turnfsm.runtime.testing.livekit import Call, Reply, Request, ScriptedLLM

from .plan import Kind, Plan

__all__ = ["LONG", "SHORT", "Actor", "Model"]

LONG = " ".join(["and so it went on"] * 80)
SHORT = "so it is"


class Actor:
    """The waits that the cues release."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kinds: list[Kind] = []
        self.voice, self.thought = asyncio.Event(), asyncio.Event()
        self.released, self.disallow = asyncio.Event(), asyncio.Event()
        self.call: RunContext[Any] | None = None
        self._agent: Agent | None = None

    def agent(self) -> Agent:
        """The agent; one for the walk."""
        if self._agent is None:
            self._agent = _Agent(self)
        return self._agent

    def end(self) -> None:
        """Release all waits."""
        for event in (self.voice, self.thought, self.released, self.disallow):
            event.set()

    async def work(self, context: RunContext[Any]) -> str | None:
        """The tool's body."""
        self.call = context
        waits = {asyncio.ensure_future(e.wait()) for e in (self.disallow, self.released)}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if self.disallow.is_set() and not self.released.is_set():
            context.disallow_interruptions()
        await self.released.wait()
        return "done" if self.plan.replies_to_tool or not self.plan.happens("handover") else None


class _Agent(Agent):
    def __init__(self, actor: Actor) -> None:
        self._actor = actor

        @on_interruption(actor.plan.policy)
        @function_tool
        async def work(context: RunContext) -> str | None:  # type: ignore[type-arg]
            """Do the work."""
            return await actor.work(context)

        super().__init__(instructions="Help.", tools=[work])

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        if self._actor.plan.stays_open:
            await self._actor.released.wait()

    async def llm_node(
        self, chat_ctx: llm.ChatContext, tools: list[llm.Tool], model_settings: ModelSettings
    ) -> AsyncIterator[llm.ChatChunk | str | FlushSentinel]:
        await self._actor.thought.wait()
        async for chunk in Agent.default.llm_node(self, chat_ctx, tools, model_settings):
            yield chunk

    async def tts_node(
        self, text: AsyncIterable[str], model_settings: ModelSettings
    ) -> AsyncIterator[rtc.AudioFrame]:
        await self._actor.voice.wait()
        async for frame in Agent.default.tts_node(self, text, model_settings):
            yield frame


class Model(ScriptedLLM):
    """Answers as the step of the path requires."""

    def __init__(self, actor: Actor) -> None:
        super().__init__()
        self._actor = actor

    def ask(
        self, chat_ctx: llm.ChatContext, tools: Iterable[llm.Tool] = (), **how: bool
    ) -> tuple[Request, Reply]:
        request, _ = super().ask(chat_ctx, tools, **how)
        kinds = self._actor.kinds
        return request, _REPLIES[kinds.pop(0) if kinds else "say"]


_REPLIES: dict[Kind, Reply] = {
    "say": Reply(LONG, ttft=0.05),
    "think": Reply(LONG, ttft=0.05),
    "brief": Reply(SHORT, ttft=0.05),
    "silent": Reply("", ttft=0.05),
    "work": Reply("", Call("work"), ttft=0.05),
    "work aloud": Reply(LONG, Call("work"), ttft=0.05),
}
