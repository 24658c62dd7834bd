"""The part of an activity that handles a realtime model's messages and calls, and removes the
unheard ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Coroutine
from dataclasses import replace
from typing import Any

from livekit.agents import llm
from livekit.agents.voice.speech_handle import SpeechHandle

from .answering import AnsweringActivity
from .conversation import results_in
from .generations import Generation
from .history import conversation_of
from .item_stream import ItemStream
from .speech import GovernedHandle, govern, own_id

__all__ = ["GeneratingActivity"]


class GeneratingActivity(AnsweringActivity):
    """An activity whose realtime model generates replies."""

    _unhandled: tuple[SpeechHandle, llm.GenerationCreatedEvent] | None = None
    """A response of the model that LiveKit has not begun to play."""
    _begun: tuple[llm.GenerationCreatedEvent | None, Generation | None] = None, None
    _messages: list[tuple[GovernedHandle, str]]
    """Messages of the model that may not be in the history yet, by their ids."""

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
                self._conductor.realtime.answered()
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
