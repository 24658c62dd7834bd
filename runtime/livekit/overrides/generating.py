"""An activity's steps: their output, a realtime model's messages and calls, and the outputs of the
calls."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from typing import Any, cast

from livekit.agents import llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm.agenda.entries import Answered
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.tool_calls import Result

from .conversation import ChatContextSync, Generation, results_in
from .governed_model import GovernedModel
from .history import conversation_of
from .output import StepOutput
from .speech import GovernedHandle, govern, own_id
from .streams import ItemStream
from .tool_context import GovernedContext
from .tools import STILL_RUNNING, cancel_call, report_result, running_call

__all__ = ["GeneratingActivity", "let_tools_end"]

logger = logging.getLogger("turnfsm")

WAKE_CYCLES = 20
"""Event loop iterations for a waiting tool to end with its own output."""


class GeneratingActivity(AgentActivity):
    """An activity that knows the output of each step, lets a realtime model generate replies, and
    gives the model's calls their outputs."""

    _conductor: Conductor
    _sending: asyncio.Task[None] | None = None
    _answerer: asyncio.Task[None] | None = None
    _unhandled: tuple[SpeechHandle, llm.GenerationCreatedEvent] | None = None
    """A response of the model that LiveKit has not begun to play."""
    _begun: tuple[llm.GenerationCreatedEvent | None, Generation | None] = None, None
    _messages: list[tuple[GovernedHandle, str]]
    """Messages of the model that may not be in the history yet, by their ids."""

    # -- the output of a step

    @property
    def output(self) -> StepOutput | None:
        """The output of a step that begins now; None if it is text only."""
        output = self.session.output
        audio = output.audio if output.audio_enabled else None
        return StepOutput(self, audio) if audio is not None else None

    def _plays(self, speech: SpeechHandle) -> None:
        """A task that plays a step begins. It uses the session's current output, even if the
        application replaces the output later."""
        governed = govern(speech, self._conductor)
        governed.output = output = self.output
        if self._conductor.floor.holds(governed):
            cast(Any, self.session).listen_to(output)
        self._conductor.speech.output_known(governed, output)

    @property
    def resumes(self) -> bool:
        """The session resumes after false interruptions, and interruptions can be false."""
        wanted = self.session.options.interruption
        timeout = wanted["false_interruption_timeout"]
        resumes = wanted["resume_false_interruption"] and timeout is not None
        return bool(resumes) and not self.overlaps

    @property
    def overlaps(self) -> bool:
        """A realtime model may speak while the user does."""
        model = self.llm
        may = (
            isinstance(model, llm.RealtimeModel) and model.capabilities.supports_overlapping_speech
        )
        return may and self._rt_turn_detection_enabled

    def fallen_silent(self) -> None:
        """Audible speech was paused."""
        self._on_end_of_agent_speech(ended_at=time.time())

    def heard_again(self) -> None:
        """Paused speech was resumed."""
        if self._audio_recognition is not None:
            self._audio_recognition._on_start_of_agent_speech(started_at=time.time())
        if self._interruption_detection_enabled:
            self._disable_vad_interruption_soon()

    # -- the conversation

    def other_calls(self, item: str) -> frozenset[str]:
        """The ids of the conversation's calls, except that of this item."""
        contexts = conversation_of(self), self.session.history
        calls = [
            other.call_id
            for context in contexts
            for other in context.items
            if other.type in ("function_call", "function_call_output") and other.id != item
        ]
        return frozenset(calls)

    @property
    def shown_results(self) -> frozenset[str]:
        """The ids of the results in the agent's conversation."""
        return results_in(conversation_of(self))

    def tool(self, name: str) -> Any:
        """The agent's tool of this name, or None."""
        return llm.ToolContext(self.tools).function_tools.get(name)

    # -- the outputs of calls

    @property
    def _sync(self) -> ChatContextSync | None:
        model = self.__dict__.get("_rt_session")
        return model.sync if isinstance(model, GovernedModel) else None

    def send_results(self, results: Sequence[llm.FunctionCallOutput]) -> None:
        """Send results to the model as they arrive.

        LiveKit would wait for silence, and the model may reply before that.
        """
        if (sync := self._sync) is not None:
            # LiveKit owns the task, and awaits or cancels it with the agent.
            sending = self._send(sync, results)
            self._sending = self._create_speech_task(sending, name="turnfsm.tell_results")
            self._sending.add_done_callback(_log_failure)

    async def _send(self, sync: ChatContextSync, results: Sequence[llm.FunctionCallOutput]) -> None:
        with contextlib.suppress(llm.RealtimeError):  # LiveKit sends them again later
            await sync.tell(results)

    def _overtaken(self, speech: SpeechHandle) -> list[llm.FunctionCallOutput]:
        """The pending results, if a message follows one of them.

        A model answers the last item, and results are right after their calls.
        """
        due = self._conductor.tools.undelivered_of(speech.id, _results_of(speech))
        items = (*conversation_of(self).items, *speech.chat_items)
        results = {i.id: i for i in items if i.type == "function_call_output" and i.call_id in due}
        overtaken = self._sync is not None and self._sync.spoken_behind(results)
        return list(results.values()) if overtaken else []

    def _has_undelivered_results(self, step: SpeechHandle) -> bool:
        return bool(self._conductor.tools.with_results(_results_of(step)))

    def cancel_call(self, call: str) -> None:
        """Cancel a running tool."""
        cancel_call(self.session, call)

    def add_cancelled_output(self, call: str, text: str) -> None:
        """Add an output to the conversation for a call that was answered and then cancelled."""
        conversation = conversation_of(self)
        calls = (item for item in conversation.items if item.type == "function_call")
        original = next((item for item in calls if item.call_id == call), None)
        if original is None or self.session._is_closing():
            return
        # as LiveKit would commit it
        copy = llm.FunctionCall(
            call_id=f"{call}_final", name=original.name, arguments=original.arguments
        )
        output = llm.FunctionCallOutput(
            call_id=copy.call_id, name=copy.name, output=text, is_error=True
        )
        wanted = report_result(self.session, original, output)
        conversation.insert([copy, output])
        self.session.history.insert([copy, output])
        self._conductor.tools.late_result(Result(call, not wanted))
        self.send_results([output])

    def answer(self, calls: Sequence[str]) -> None:
        """Answer calls that continue in the background with "still running"."""
        if calls:
            answer = self._answer(calls, self._answerer)
            self._answerer = self._create_speech_task(answer, name="turnfsm.answer_open_calls")

    async def _answer(self, calls: Sequence[str], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        await let_tools_end()
        for call in calls:
            context = running_call(self.session, call, GovernedContext)
            if context is not None and self._conductor.tools.may_answer(call):
                await context.update(STILL_RUNNING, template="{message}")

    @property
    def model_keeps_context(self) -> bool:
        """A realtime model stores the conversation itself."""
        return self.__dict__.get("_rt_session") is not None

    @property
    def model_replies(self) -> bool:
        """The realtime model replies to tool results without being asked."""
        model = self.__dict__.get("_rt_session")  # not if its agent was closed
        return model is not None and bool(model.capabilities.auto_tool_reply_generation)

    # -- what a realtime model generates

    def _begins(self, ev: llm.GenerationCreatedEvent, speech: SpeechHandle) -> Generation | None:
        begun, generation = self._begun
        if begun is ev and generation is not None:
            generation.speech = govern(speech, self._conductor)
        elif (sync := self._sync) is not None and (model := self._rt_session) is not None:
            held = model.chat_ctx.items
            generation = sync.generations.begins(govern(speech, self._conductor), held)
            self._begun = ev, generation
        return generation

    async def _generate(
        self,
        speech_handle: SpeechHandle,
        generation_ev: llm.GenerationCreatedEvent,
        play: Callable[..., Coroutine[Any, Any, None]],
    ) -> None:
        speech = govern(speech_handle, self._conductor)
        generation = self._begins(generation_ev, speech)
        if self.model_replies and not generation_ev.user_initiated:
            self._conductor.requests.sent(speech, results_in(conversation_of(self)), answers=True)
        # LiveKit leaves unheard text and calls that never ran in the model's conversation.
        message_ids: list[str] = []
        item_ids: list[str] = []

        def on_message(message: llm.MessageGeneration) -> llm.MessageGeneration:
            message_ids.append(message.message_id)
            self._messages.append((speech, message.message_id))
            return message

        def on_call(call: llm.FunctionCall) -> llm.FunctionCall | None:
            duplex = isinstance(self.llm, llm.DuplexRealtimeAdapter)
            reported = call.call_id, call.name, call.arguments
            if duplex and self._conductor.requests.call_repeated(*reported):
                return None
            item_ids.append(call.id)
            if speech.instructed:  # the model has also answered the user
                due = self._conductor.log.agenda.due
                answered = [o.id for o in due if o.kind == "utterance"]
                self._conductor.log.add(Answered(answered))
            return self._with_own_id(call)

        messages = ItemStream(generation_ev.message_stream, on_message)
        calls = ItemStream(generation_ev.function_stream, on_call)
        observed = replace(generation_ev, message_stream=messages, function_stream=calls)
        self._unhandled = None
        self._plays(speech)
        await play(generation_ev=observed)
        if generation is not None:
            generation.over = True
        await self._forget(item_ids)
        if not (message_ids or item_ids or speech_handle.interrupted):  # nothing left to deliver
            self._conductor.requests.reply_heard(speech_handle.id, whole=True)

    def _with_own_id(self, call: llm.FunctionCall) -> llm.FunctionCall:
        # a copy, as the model uses its own id
        own = own_id(self._conductor, call.id, call.call_id)
        if own == call.call_id:
            return call
        if self._sync is not None:
            self._sync.call_renamed(call.id, own, call.call_id)
        return call.model_copy(update={"call_id": own})

    async def _forget(self, items: Collection[str] = ()) -> None:
        """Remove unheard items, including these if they are not in the history."""
        over = {id for s, id in self._messages if s.interrupted and not s.in_step}
        self._messages = [(s, id) for s, id in self._messages if not (id in over or s.done())]
        in_history = self.session.history.get_by_id
        unheard = {id for id in (*over, *items) if in_history(id) is None}
        if not unheard or (sync := self._sync) is None:
            return
        own = conversation_of(self).items
        own[:] = [item for item in own if item.id not in unheard]
        with contextlib.suppress(llm.RealtimeError):
            await sync.forget(unheard)

    async def _add_heard_text(self, speech: SpeechHandle) -> None:
        """Add the heard part of a fixed text to the model's conversation."""
        heard = [item for item in speech.chat_items if item.type == "message"]
        model = self._rt_session
        if not heard or model is None or not model.capabilities.mutable_chat_context:
            return
        speech._mark_generation_done()  # the next speech need not wait for the model
        context = model.chat_ctx.copy()
        context.insert(heard)
        with contextlib.suppress(llm.RealtimeError):
            await model.update_chat_ctx(context)


def _results_of(speech: SpeechHandle) -> frozenset[str]:
    """The ids of a speech's results, except late ones, which come separately."""
    items = speech.chat_items
    return frozenset(item.call_id for item in items if item.type == "function_call_output")


async def let_tools_end() -> None:
    """Let tools end whose wait was ended by the interruption.

    LiveKit gives no signal for this: a tool may continue, and the output of one that ends passes
    through several tasks before `_item_added`.
    """
    for _ in range(WAKE_CYCLES):
        await asyncio.sleep(0)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a result could not be sent to the realtime model", exc_info=error)
