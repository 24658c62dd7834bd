"""An activity's requests to the model, sent when the flow allows it and with all results, and what
their steps produce."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, cast

from livekit import rtc
from livekit.agents import llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.speech_handle import SpeechHandle
from opentelemetry import context as otel_context

from turnfsm.fsm.journal import ReplyText
from turnfsm.runtime.conversation.open_calls import RUNNING, UNCOMMITTED
from turnfsm.runtime.conversation.pauses import Sound
from turnfsm.runtime.conversation.ports import Speech

from .generating import let_tools_end
from .handoff import HandoffActivity
from .history import conversation_of
from .projected import send, shared
from .recognition import turn_of
from .speech import GovernedHandle, OwnRequest, current_speech, govern
from .streams import CountedNode, CountedStream

__all__ = ["LIVEKIT_TELLS", "RequestingActivity"]

LIVEKIT_TELLS = "update_chat_ctx" in AgentActivity._tts_task_impl.__code__.co_names
"""Since 1.8.9 LiveKit adds the text of `say()` to a realtime model's conversation."""

_LIVEKIT = AgentActivity._tts_task_impl.__globals__

_AUDIO = {"forward_generation": "audio_source", "perform_audio_forwarding": "tts_output"}
"""The argument that has the audio, by LiveKit's function that forwards it."""


class RequestingActivity(HandoffActivity):
    """An activity that completes each request, waits until it may be sent, and reports the tokens
    and the audio that follow."""

    _early_reply: tuple[SpeechHandle, str] | None = None

    def _create_speech_task(
        self, coro: Any, *, speech_handle: SpeechHandle | None = None, name: str | None = None
    ) -> asyncio.Task[Any]:
        if speech_handle is not None and isinstance(self.llm, llm.LLM):
            # LiveKit has copied the conversation, just now or before the agent's hook.
            turn = self._conductor.turns.answered_by(asyncio.current_task())
            known = turn.items if turn is not None else self._item_ids
            govern(speech_handle, self._conductor).known = known
        return super()._create_speech_task(coro, speech_handle=speech_handle, name=name)

    # -- a reply is requested: for a turn, or by the application for typed text

    def _generate_reply(self, **request: Any) -> SpeechHandle:
        asked: llm.ChatMessage | None = request.get("user_message") or None
        if asked is not None and request.get("schedule_speech", True):
            info = turn_of(asked.text_content or "", asked.transcript_confidence or 0.0)
            commits, task = self._conductor.commits, asyncio.current_task()
            if isinstance(answer := commits.typed_yes(task, info.new_transcript), SpeechHandle):
                cast(Any, self.session).add_transcript(info)
                return answer
        handle = govern(super()._generate_reply(**request), self._conductor)
        self._conductor.speeches.asked(
            handle,
            self,
            [asked.id] if asked is not None else [],
            instructed=bool(request.get("instructions")),
        )
        if asked is None:
            return handle
        if not isinstance(self.llm, llm.RealtimeModel):  # LiveKit makes its own message then
            self._conductor.turns.reply_asked(handle, asked.id)
        if handle.scheduled:
            text, task = asked.text_content or "", asyncio.current_task()
            if self._conductor.turns.answered_by(task) is None:
                self._note_early_reply(handle, text)
            info = turn_of(text, asked.transcript_confidence or 0.0)
            self._conductor.commits.typed(task, handle, info, self._item_ids)
        return handle

    def _note_early_reply(self, handle: SpeechHandle, text: str) -> None:
        # The agent interrupts the user (`user_turn_limit`) with a reply to the transcript so far.
        # The turn that is committed afterwards begins with the same text.
        limits = self.session.options.turn_handling["user_turn_limit"].values()
        if any(limits) and text and f"{self.uncommitted_transcript} ".startswith(f"{text} "):
            self._early_reply = handle, text

    @property
    def _item_ids(self) -> frozenset[str]:
        return frozenset([item.id for item in conversation_of(self).items])

    async def _may_ask(
        self, handle: SpeechHandle, asked: llm.ChatMessage | None, own: object
    ) -> bool:
        """Wait until the model may be asked to reply: to a message, or with instructions."""
        if self._conductor.tools.find(RUNNING):
            await let_tools_end()
        waited = asked is not None and await self._wait_for_calls_of_replies(handle)
        waited |= await self._conductor.requests.may_request(govern(handle, self._conductor))
        if self.left:
            return False
        speech = govern(handle, self._conductor)
        speech.request = OwnRequest(speech.known, waited, None if own is None else str(own))
        if self._conductor.keeping is not None:
            await self._conductor.keeping.before_reply()
        if own is None:
            self._conductor.speech.response_awaited(speech)
        self._plays(handle)
        return True

    # LiveKit has added the user's message, the instructions and the running calls. The rest is one
    # synchronous step, so the model gets exactly what the flow allowed.

    def stream_begins(self, context: llm.ChatContext) -> bool:
        """The `llm_node` of a speech begins, with the context of the request.

        Returns:
            Whether the model is asked. LiveKit would ask it even for an interrupted speech, and
            check afterwards.
        """
        speech = current_speech()
        if not isinstance(speech, GovernedHandle) or speech.request is None:
            return True  # the application has called it
        if speech.interrupted:
            return False
        request, speech.request = speech.request, None
        conversation = conversation_of(self).items
        copied, copies = shared(context.items, conversation)
        rest, since = _without(context.items, copied), _without(conversation, copies)
        missing = self._missing_items(request, rest, since)
        prepared = self._preemptive_generation
        if missing and prepared is not None and prepared.speech_handle is speech:
            prepared.chat_ctx = prepared.chat_ctx.copy()  # LiveKit compares it at the commit
            prepared.chat_ctx.insert(missing)
        held = {item.id for item in (*since, *missing)}
        send(context, missing, copied, held, speech, request.instructions)
        return True

    def _missing_items(
        self,
        request: OwnRequest,
        context: Sequence[llm.ChatItem],
        conversation: Sequence[llm.ChatItem],
    ) -> list[llm.ChatItem]:
        """The items that LiveKit's copy of the conversation lacks.

        LiveKit commits the calls of a step together, after the step was played and the slowest call
        has ended. A request before that gets the results so far.

        Args:
            request: The request.
            context: The copy, without the common beginning.
            conversation: The conversation, without the common beginning.
        """
        known, shown = request.known, {item.id for item in context}
        missing = [
            item
            for item in conversation
            if item.id not in shown
            and item.id not in known
            and (request.waited or item.type in ("function_call", "function_call_output"))
        ]
        shown |= {item.id for item in missing}
        calls = self._conductor.tools.find(UNCOMMITTED)
        ended = (item for call in calls for item in _items_of_call(call.speech, call.id))
        return missing + [item for item in ended if item.id not in shown and item.id not in known]

    def stream_came(self, first_text: bool) -> None:
        """The `llm_node` of a speech has produced something; `first_text`: its first text."""
        self._conductor.requests.tokens_received()
        speech = current_speech()
        if first_text and speech is not None:
            self._conductor.record(ReplyText(speech.id))
            if speech.scheduled:  # otherwise it may never be played
                self._conductor.speech.reply_started(govern(speech, self._conductor))

    def stream_ended(self, calls: int, spoke: bool) -> None:
        """The `llm_node` of a speech has ended; `calls`: the number of tool calls; `spoke`: it has
        produced text."""
        speech = current_speech()
        if not isinstance(speech, GovernedHandle):
            return
        self._conductor.requests.calls_received(speech, calls)
        if calls and not spoke and self._conductor.speech.needs_no_floor(speech):
            self._speech_q[:] = [entry for entry in self._speech_q if entry[2] is not speech]
            heapq.heapify(self._speech_q)
            speech._authorize_generation()

    async def _wait_for_calls_of_replies(self, handle: SpeechHandle) -> bool:
        speech, replies = govern(handle, self._conductor), self._conductor.speeches

        def before() -> bool:
            others = iter(replies.may_still_call(speech))
            return any(isinstance(o, SpeechHandle) and o.scheduled for o in others)

        if not before():
            return False
        # if it has the floor, those replies come after it
        await self._conductor.until(lambda: handle.interrupted or speech.in_step or not before())
        return True

    def _remove_answered_text(self, info: Any) -> bool:
        """Whether unanswered text remains."""
        (handle, text), self._early_reply = self._early_reply or (None, ""), None
        if handle is None or handle.done() or not info.new_transcript.startswith(text):
            return True
        info.new_transcript = info.new_transcript.removeprefix(text).strip()
        return bool(info.new_transcript)

    # -- the tokens and the audio of steps are counted in LiveKit's own tasks: nothing is set on the
    # agent or the output, which belong to the application

    async def _pipeline_reply_task_impl(
        self, *, speech_handle: SpeechHandle, **request: Any
    ) -> None:
        self._turn_begins(speech_handle)
        asked, own = request.get("new_message"), request.get("instructions")
        if not await self._may_ask(speech_handle, asked, own):
            return
        names = self._inference(speech_handle) | self._forwarding(speech_handle)
        task = _calling(AgentActivity._pipeline_reply_task_impl, names)
        await task(self, speech_handle=speech_handle, **request)

    async def _tts_task_impl(self, speech_handle: SpeechHandle, *what: Any, **how: Any) -> None:
        self._turn_begins(speech_handle)
        self._conductor.record(ReplyText(speech_handle.id))
        self._plays(speech_handle)
        names = self._forwarding(speech_handle, how["text"])
        task = _calling(AgentActivity._tts_task_impl, names)
        await task(self, speech_handle, *what, **how)
        if not LIVEKIT_TELLS:
            await self._add_heard_text(speech_handle)

    async def _realtime_generation_task_impl(
        self,
        *,
        speech_handle: SpeechHandle,
        generation_ev: llm.GenerationCreatedEvent,
        **response: Any,
    ) -> None:
        self._turn_begins(speech_handle)
        names = self._forwarding(speech_handle)
        task = _calling(AgentActivity._realtime_generation_task_impl, names)
        play = partial(task, self, speech_handle=speech_handle, **response)
        await self._generate(speech_handle, generation_ev, play)

    def _turn_begins(self, handle: SpeechHandle) -> None:
        # the current span is that of the agent's turn
        govern(handle, self._conductor).turn_context = otel_context.get_current()

    def _inference(self, handle: SpeechHandle) -> dict[str, Any]:
        """LiveKit's function that asks the model, by its name."""
        speech, reports = govern(handle, self._conductor), self._conductor.speech
        over = partial(reports.response_over, speech)
        begins, produced, ended = self.stream_begins, self.stream_came, self.stream_ended

        def ended_with(task: asyncio.Task[Any]) -> None:
            speech.failed |= not task.cancelled() and task.exception() is not None
            over()

        def perform(*, node: Any, **how: Any) -> Any:
            counted = CountedNode(node, begins, produced, over, ended)
            task, data = _LIVEKIT["perform_llm_inference"](node=counted, **how)
            task.add_done_callback(ended_with)
            return task, data

        return {"perform_llm_inference": perform}

    def _forwarding(
        self, handle: SpeechHandle, text: str | AsyncIterable[str] = ""
    ) -> dict[str, Any]:
        """LiveKit's functions that forward text and audio of a step to the output, by name."""
        speech, floor = govern(handle, self._conductor), self._conductor.floor
        reports = self._conductor.speech
        needs_text, needs_sound = reports.needs_text, reports.needs_sound

        def on_text(text: str) -> None:
            floor.text_received(speech, text)

        def on_frame(frame: rtc.AudioFrame) -> Awaitable[None] | None:
            rate = frame.sample_rate * frame.num_channels
            sound = Sound(frame.data, rate) if needs_sound else None
            return floor.frame_received(speech, frame.duration, sound)

        def forward(name: str, audio: str, **how: Any) -> Any:
            how["reconcile_playout_pause"] = partial(reports.start_playout, speech)
            source: AsyncIterable[rtc.AudioFrame] | None = how[audio]
            if source is not None:
                how[audio] = CountedStream(source, on_frame)
            if needs_text:
                if isinstance(text, str):
                    on_text(text)
                if how.get("text_source") is not None:
                    how["text_source"] = CountedStream(how["text_source"], on_text)
            return _LIVEKIT[name](**how)

        return {name: partial(forward, name, audio) for name, audio in _AUDIO.items()}


def _without(items: Sequence[llm.ChatItem], part: slice) -> list[llm.ChatItem]:
    return [*items[: part.start], *items[part.stop :]]


def _calling(
    function: Callable[..., Coroutine[Any, Any, None]], replaced: Mapping[str, Any]
) -> Callable[..., Coroutine[Any, Any, None]]:
    """A copy of a function of LiveKit's with some of its global names replaced.

    LiveKit reads `Agent.llm_node` and the audio output in the middle of the function. Otherwise
    they would have to be replaced on the application's objects.
    """
    assert isinstance(function, FunctionType)
    names = {**function.__globals__, **replaced}
    copy = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _items_of_call(speech: Speech, call_id: str) -> list[llm.ChatItem]:
    """A call and its output, as LiveKit will commit them; nothing if there is no output yet."""
    items = speech.chat_items if isinstance(speech, SpeechHandle) else []
    own = [item for item in items if getattr(item, "call_id", None) == call_id]
    return own if any(item.type == "function_call_output" for item in own) else []
