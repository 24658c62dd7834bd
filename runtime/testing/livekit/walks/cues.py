"""The agent and the model of a path, and for each trigger what makes LiveKit report it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs
from livekit import rtc
from livekit.agents import Agent, FlushSentinel, ModelSettings, RunContext, function_tool, llm

from turnfsm.fsm.cover import PathStep
from turnfsm.runtime.conversation.policies import on_interruption
from turnfsm.runtime.testing.livekit import Call, Reply, Request, ScriptedLLM

from .plan import Kind, Plan

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["CUES", "Actor", "Model"]


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


Cue = Callable[["Walk", PathStep, int], Awaitable[None]]

FRAME = 0.05
BLIND = 1_000.0


async def _loud(walk: Walk, step: PathStep, at: int) -> None:
    """The user makes a lasting sound, with interim transcripts if words are counted."""
    count = walk.plan.words_that_interrupt
    interims = ((0.1, _some(count + 1)),) if count else ()
    walk.user.says("hm", at=walk.now, duration=1e5, stt_delay=None, interims=interims)


def _some(count: int) -> str:
    return " ".join(["well"] * count)


async def _quiet(walk: Walk, step: PathStep, at: int) -> None:
    """The sound ends. No transcript is due if only the application commits turns from now on."""
    if walk.plan.none_due(at):
        walk.session.update_options(turn_detection="manual")
    sound = walk.user.utterances[-1]
    walk.user.utterances[-1] = attrs.evolve(sound, duration=max(FRAME, walk.now - sound.at))


async def _words(walk: Walk, step: PathStep, at: int) -> None:
    """Words that are too soft for the VAD and clear enough for the STT."""
    # endpointing is cancelled for too few words
    count = 2 if walk.plan.happens("endpointing_ended") else max(2, walk.plan.words)
    walk.vad.min_speech, heard = BLIND, walk.vad.min_speech
    walk.user.says(_some(count), at=walk.now, duration=0.2, stt_delay=0.1)
    await asyncio.sleep(0.2 + 0.1 + 2 * FRAME)
    walk.vad.min_speech = heard


async def _commit(walk: Walk, step: PathStep, at: int) -> None:
    """The application commits the turn; silence alone would take too long."""
    walk.session.update_options(endpointing_opts={"min_delay": 0.0, "max_delay": 0.0})
    walk.session.commit_user_turn(transcript_timeout=0.01)
    await asyncio.sleep(0.03)
    walk.session.update_options(endpointing_opts=walk.plan.turn_handling["endpointing"])


async def _reply(walk: Walk, step: PathStep, at: int) -> None:
    walk.actor.thought.set()
    walk.session.generate_reply(instructions="Go on.")


async def _step(walk: Walk, step: PathStep, at: int) -> None:
    """`say` for a step that only speaks, `generate_reply` for one that needs the model."""
    kind, may = walk.plan.kind(at), walk.plan.interruptible(at)
    walk.actor.voice.clear()
    walk.actor.thought.set()
    if walk.matched and walk.matched[-1] == "thinking":
        return  # the reply to a tool result comes by itself
    if kind in ("say", "brief"):
        text = SHORT if kind == "brief" else LONG
        walk.session.say(text, allow_interruptions=may)
        return
    if walk.plan.waits(at):
        walk.actor.thought.clear()
    walk.actor.kinds.append(kind)
    walk.session.generate_reply(instructions="Begin.", allow_interruptions=may)


async def _think(walk: Walk, step: PathStep, at: int) -> None:
    walk.actor.thought.set()


async def _voice(walk: Walk, step: PathStep, at: int) -> None:
    walk.actor.voice.set()


async def _interrupt(walk: Walk, step: PathStep, at: int) -> None:
    if (speech := walk.session.current_speech) is not None:
        speech.interrupt()


async def _interrupt_other(walk: Walk, step: PathStep, at: int) -> None:
    if walk.actor.call is not None:
        walk.actor.call.speech_handle.interrupt()


async def _disallow(walk: Walk, step: PathStep, at: int) -> None:
    walk.actor.disallow.set()


async def _release(walk: Walk, step: PathStep, at: int) -> None:
    walk.actor.released.set()


CUES: dict[str, Cue] = {
    "user_started_speaking": _loud,
    "user_stopped_speaking": _quiet,
    "final_transcript": _words,
    "turn_committed": _commit,
    "reply": _reply,
    "step_started": _step,
    "start_playout": _think,
    "playout_started": _voice,
    "step_interrupted": _interrupt,
    "speech_interrupted": _interrupt_other,
    "interruptions_disallowed": _disallow,
    "tool_started": _think,
    "step_finished": _think,
    "tool_ended": _release,
}
"""The cues. Every other trigger follows from one of them, or from a timer."""
