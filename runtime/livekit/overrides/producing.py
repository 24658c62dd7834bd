"""Counts the tokens and audio of an activity's steps in LiveKit's own tasks.

Nothing is set on the agent or the output, which belong to the application.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from livekit import rtc
from livekit.agents import llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.speech_handle import SpeechHandle
from opentelemetry import context as otel_context

from turnfsm.fsm.journal import ReplyText
from turnfsm.runtime.conversation.pauses import Sound

from .progress import CountedNode, CountedStream
from .requests import RequestingActivity
from .speech import govern

__all__ = ["LIVEKIT_TELLS", "ProducingActivity"]


LIVEKIT_TELLS = "update_chat_ctx" in AgentActivity._tts_task_impl.__code__.co_names
"""Since 1.8.9 LiveKit adds the text of `say()` to a realtime model's conversation."""


class ProducingActivity(RequestingActivity):
    """An activity that reports the tokens and the audio of its steps."""

    async def _pipeline_reply_task_impl(
        self, *, speech_handle: SpeechHandle, **request: Any
    ) -> None:
        self._turn_begins(speech_handle)
        asked, own = request.get("new_message"), request.get("instructions")
        if not await self._may_ask(speech_handle, asked, own):
            return
        task = _calling(
            AgentActivity._pipeline_reply_task_impl,
            {
                "perform_llm_inference": self._infers(speech_handle),
                "forward_generation": self._forwards(speech_handle, "audio_source"),
            },
        )
        await task(self, speech_handle=speech_handle, **request)

    async def _tts_task_impl(self, speech_handle: SpeechHandle, *what: Any, **how: Any) -> None:
        self._turn_begins(speech_handle)
        self._conductor.record(ReplyText(speech_handle.id))
        self._plays(speech_handle)
        task = _calling(
            AgentActivity._tts_task_impl,
            {"perform_audio_forwarding": self._forwards(speech_handle, "tts_output", how["text"])},
        )
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
        task = _calling(
            AgentActivity._realtime_generation_task_impl,
            {"forward_generation": self._forwards(speech_handle, "audio_source")},
        )
        play = partial(task, self, speech_handle=speech_handle, **response)
        await self._generate(speech_handle, generation_ev, play)

    def _turn_begins(self, handle: SpeechHandle) -> None:
        # the current span is that of the agent's turn
        govern(handle, self._conductor).turn_context = otel_context.get_current()

    def _infers(self, handle: SpeechHandle) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        speech, conductor = govern(handle, self._conductor), self._conductor

        def ended_with(task: asyncio.Task[Any]) -> None:
            speech.failed |= not task.cancelled() and task.exception() is not None
            conductor.speech.response_over(speech)

        def replaces(original: Callable[..., Any]) -> Callable[..., Any]:
            def perform(*, node: Any, **how: Any) -> Any:
                over = partial(conductor.speech.response_over, speech)
                begins, produced, ended = self.stream_begins, self.stream_came, self.stream_ended
                task, data = original(node=CountedNode(node, begins, produced, over, ended), **how)
                task.add_done_callback(ended_with)
                return task, data

            return perform

        return replaces

    def _forwards(
        self, handle: SpeechHandle, audio: str, text: str | AsyncIterable[str] = ""
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        speech, floor = govern(handle, self._conductor), self._conductor.floor
        reports = self._conductor.speech
        needs_text, needs_sound = reports.needs_text, reports.needs_sound

        def on_text(text: str) -> None:
            floor.text_received(speech, text)

        def on_frame(frame: rtc.AudioFrame) -> Awaitable[None] | None:
            rate = frame.sample_rate * frame.num_channels
            sound = Sound(frame.data, rate) if needs_sound else None
            return floor.frame_received(speech, frame.duration, sound)

        def replaces(original: Callable[..., Any]) -> Callable[..., Any]:
            def forward(**how: Any) -> Any:
                how["reconcile_playout_pause"] = partial(reports.start_playout, speech)
                source: AsyncIterable[rtc.AudioFrame] | None = how[audio]
                if source is not None:
                    how[audio] = CountedStream(source, on_frame)
                if needs_text:
                    if isinstance(text, str):
                        on_text(text)
                    if how.get("text_source") is not None:
                        how["text_source"] = CountedStream(how["text_source"], on_text)
                return original(**how)

            return forward

        return replaces


def _calling(
    function: Callable[..., Coroutine[Any, Any, None]],
    replaced: Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]],
) -> Callable[..., Coroutine[Any, Any, None]]:
    """A copy of the function with some of its global names replaced.

    LiveKit reads `Agent.llm_node` and the audio output in the middle of the function. Otherwise
    they would have to be replaced on the application's objects.

    Args:
        function: A function of LiveKit's.
        replaced: By the name of a global function: returns its replacement for the original.
    """
    assert isinstance(function, FunctionType)
    names = dict(function.__globals__)
    names |= {name: replace(names[name]) for name, replace in replaced.items()}
    copy = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
