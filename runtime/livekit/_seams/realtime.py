"""The part of an activity that speaks with a realtime model, whose conversation is its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from livekit.agents import llm
from livekit.agents.voice.agent_activity import AgentActivity

from .governor import Governor
from .tools import answer_open_call

__all__ = ["RealtimeActivity", "stand_together"]

logger = logging.getLogger("turnfsm")

DECISION = 2.0
"""Seconds after the user's speech in which a reply of a model that detects turns is waited for."""

WAKING = 3
"""Turns of the loop in which a tool ends that waits for its turn: it then answers for itself."""


class RealtimeActivity(AgentActivity):
    """A model that detects turns tells when the user speaks, if no VAD does, and has decided on
    the end of a turn when it creates a generation. What is sent to it has each result next to its
    call."""

    _governor: Governor
    _decision: asyncio.Task[None] | None = None
    _decided: asyncio.Event
    _telling: asyncio.Task[None] | None = None
    _answering: asyncio.Task[None] | None = None

    @property
    def _rt_session(self) -> llm.RealtimeSession[Any] | None:
        return self.__dict__.get("_rt_session")

    @_rt_session.setter
    def _rt_session(self, model: llm.RealtimeSession[Any] | None) -> None:
        self.__dict__["_rt_session"] = model
        # An agent may take the model's session over from the one before: it is tidy already. One
        # that replies to results by itself replies to what comes last.
        if model is None or self.model_replies or isinstance(model.update_chat_ctx, _Tidy):
            return
        model.update_chat_ctx = _Tidy(model)  # type: ignore[method-assign]

    def _on_input_speech_started(self, ev: llm.InputSpeechStartedEvent) -> None:
        super()._on_input_speech_started(ev)
        if self._decision is not None:
            self._decision.cancel()
        if self.vad is None or self.using_default_vad:
            self._governor.user_started()

    def _on_input_speech_stopped(self, ev: llm.InputSpeechStoppedEvent) -> None:
        super()._on_input_speech_stopped(ev)
        if self._rt_turn_detection_enabled:
            self._decided = asyncio.Event()
            self._decision = asyncio.create_task(_until(self._decided))
        if self.vad is None or self.using_default_vad:
            self._governor.user_stopped()

    def _on_generation_created(self, ev: llm.GenerationCreatedEvent) -> None:
        super()._on_generation_created(ev)
        if not ev.user_initiated and self._decision is not None:
            self._decided.set()

    async def _realtime_reply_task(self, **request: Any) -> None:
        if request.get("text") is None:
            await self._governor.may_ask(request["speech_handle"])
            if under_way := {task for task in (self._answering, self._telling) if task is not None}:
                await asyncio.wait(under_way)
        await super()._realtime_reply_task(**request)

    def results_committed(self) -> None:
        """Have the model know the results that now stand in the conversation.

        LiveKit would wait until nobody speaks, and the model may be asked, or reply to the user by
        itself, before that. A model that replies to results by itself must not hear them earlier.
        """
        stand_together(self._agent._chat_ctx)  # a realtime model's call is in it from its start
        tidy = self._rt_session.update_chat_ctx if self._rt_session is not None else None
        if isinstance(tidy, _Tidy):
            # LiveKit owns it, and awaits or cancels it with the agent.
            self._telling = self._create_speech_task(self._tell(tidy), name="turnfsm.tell_results")
            self._telling.add_done_callback(_told)

    async def _tell(self, tidy: _Tidy) -> None:
        results = [i for i in self._agent._chat_ctx.items if i.type == "function_call_output"]
        with contextlib.suppress(llm.RealtimeError):  # LiveKit sends them again, later
            await tidy.tell(results)

    def answer_open_calls(self, calls: Sequence[str]) -> None:
        """Answer the calls that a turn has let go of: a model asked for a reply may wait for them.

        One that replies by itself would speak into the user's turn, and again with the result.
        """
        if self._rt_session is not None and not self.model_replies:
            answer = self._answer(calls, self._answering)
            self._answering = self._create_speech_task(answer, name="turnfsm.answer_open_calls")

    async def _answer(self, calls: Sequence[str], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        for _ in range(WAKING):
            await asyncio.sleep(0)
        for call in calls:
            if await answer_open_call(self._session, call):
                self._governor.call_let_go(call)

    @property
    def model_replies(self) -> bool:
        """The realtime model replies to the results of tools without being asked."""
        model = self._rt_session
        return model is not None and model.capabilities.auto_tool_reply_generation

    def interrupt_model(self) -> None:
        """Interrupt a realtime model's response."""
        if self._rt_session is not None:
            self._rt_session.interrupt()


class _Tidy:
    """In the place of a realtime session's `update_chat_ctx`: sends each result once, next to its
    call. LiveKit appends results to the end, behind what was said since."""

    def __init__(self, model: llm.RealtimeSession[Any]) -> None:
        self._model = model
        self._send = model.update_chat_ctx
        self._results: dict[str, llm.FunctionCallOutput] = {}
        self._sending = asyncio.Lock()

    async def __call__(self, chat_ctx: llm.ChatContext) -> None:
        async with self._sending:
            await self._send_tidy(chat_ctx.copy())

    async def tell(self, results: Iterable[llm.FunctionCallOutput]) -> None:
        """Send these results of calls that the model holds open."""
        self._results |= {result.call_id: result for result in results}
        async with self._sending:
            context = self._model.chat_ctx.copy()
            if self._unsent(context):
                await self._send_tidy(context)

    async def _send_tidy(self, context: llm.ChatContext) -> None:
        # LiveKit may have copied the conversation before a result was told: it stays told.
        context.items.extend(self._unsent(context))
        stand_together(context)
        await self._send(context)

    def _unsent(self, context: llm.ChatContext) -> list[llm.FunctionCallOutput]:
        answered = {item.call_id for item in context.items if item.type == "function_call_output"}
        calls = [item.call_id for item in context.items if item.type == "function_call"]
        missing = [call for call in calls if call not in answered and call in self._results]
        return [self._results[call] for call in missing]


def stand_together(context: llm.ChatContext) -> None:
    """Put each result that a message parts from its call next to it; a call has one result."""
    calls: dict[str, llm.FunctionCall] = {}
    answered: set[str] = set()
    for item in tuple(context.items):
        if item.type == "function_call":
            calls[item.call_id] = item
        elif item.type == "function_call_output" and item.call_id in calls:
            if item.call_id in answered:
                del context.items[_index(context.items, item)]
            else:
                _bring(context.items, item, calls[item.call_id])
            answered.add(item.call_id)


def _bring(
    items: list[llm.ChatItem], output: llm.FunctionCallOutput, call: llm.FunctionCall
) -> None:
    at = _index(items, call) + 1
    while items[at].type in ("function_call", "function_call_output") and items[at] is not output:
        at += 1  # calls that were made together stand together
    if items[at] is not output:
        del items[_index(items, output)]
        # Contexts are sorted by time. A copy: other contexts hold the item too.
        items.insert(at, output.model_copy(update={"created_at": call.created_at}))


def _index(items: list[llm.ChatItem], item: llm.ChatItem) -> int:
    return next(i for i, other in enumerate(items) if other is item)


def _told(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a result could not be told to the realtime model", exc_info=error)


async def _until(decided: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DECISION):
            await decided.wait()
