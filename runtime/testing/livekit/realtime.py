"""A scripted realtime model: it hears, answers from a script, and speaks with a `ScriptedTTS`."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

from livekit import rtc
from livekit.agents import NOT_GIVEN, APIConnectionError, llm
from livekit.agents.metrics import RealtimeModelMetrics
from livekit.agents.types import NotGivenOr
from livekit.agents.utils import aio, is_given

from .ear import Ear
from .scripted_llm import Reply, Request, ScriptedLLM
from .user import ScriptedUser
from .voice import ScriptedTTS

__all__ = ["ScriptedRealtime"]


class ScriptedRealtime(llm.RealtimeModel):
    """A realtime model: it hears `user`, answers like `model`, and speaks with `voice`.

    Args:
        user: The user.
        model: Its answers.
        voice: The durations of its sentences.
        turn_detection: It ends the user's turns itself, and any sound interrupts it. False: the
            session commits the turns.
        auto_tool_reply: It replies to tool results by itself.
        with_audio: False: it answers in text.
        silence: Seconds of silence after which it ends a turn.

    Example:
        >>> from turnfsm.testing import ScriptedLLM, ScriptedRealtime, ScriptedTTS, ScriptedUser
        >>> user = ScriptedUser().says("hello", at=1.0)
        >>> model = ScriptedRealtime(user, ScriptedLLM({"hello": "Hi."}), ScriptedTTS())
    """

    def __init__(
        self,
        user: ScriptedUser,
        model: ScriptedLLM,
        voice: ScriptedTTS,
        *,
        turn_detection: bool = True,
        auto_tool_reply: bool = False,
        with_audio: bool = True,
        silence: float = 0.5,
    ) -> None:
        super().__init__(
            capabilities=llm.RealtimeCapabilities(
                message_truncation=True,
                turn_detection=turn_detection,
                user_transcription=True,
                auto_tool_reply_generation=auto_tool_reply,
                audio_output=with_audio,
                manual_function_calls=True,
                mutable_chat_context=True,
                mutable_instructions=True,
                mutable_tools=True,
            )
        )
        self.user, self.answers, self.voice = user, model, voice
        self.silence = silence
        self.sessions: list[_Session] = []

    @property
    def model(self) -> str:
        return "scripted"

    @property
    def provider(self) -> str:
        return "turnfsm"

    def session(self, *, turn_detection_disabled: bool = False) -> llm.RealtimeSession[Any]:
        self.sessions.append(_Session(self))
        return self.sessions[-1]

    def fail(self, *, recoverable: bool = False) -> None:
        """Report an error now, such as a lost connection.

        Args:
            recoverable: It reconnects by itself; otherwise LiveKit closes the session.
        """
        error = APIConnectionError("the scripted realtime model is down")
        for session in self.sessions:
            failed = llm.RealtimeModelError(
                timestamp=time.time(), label=self._label, error=error, recoverable=recoverable
            )
            session.emit("error", failed)

    async def aclose(self) -> None:
        """Nothing to close: LiveKit closes the sessions."""


class _Session(llm.RealtimeSession[Any]):
    def __init__(self, owner: ScriptedRealtime) -> None:
        super().__init__(owner)
        self._owner = owner
        self._context = llm.ChatContext.empty()
        self._offered = llm.ToolContext.empty()
        self._ear = Ear(owner.user, owner.silence)
        self._response: _Response | None = None
        self._count = 0
        self._tool_choice: llm.ToolChoice | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def chat_ctx(self) -> llm.ChatContext:
        return self._context.copy()

    @property
    def tools(self) -> llm.ToolContext:
        return self._offered

    def remember(self, item: llm.ChatItem) -> None:
        """Add an item made by the server to its conversation, and report it."""
        previous = self._context.items[-1].id if self._context.items else None
        self._context.items.append(item)
        reported = item.model_copy(update={"content": []}) if item.type == "message" else item
        self.emit("remote_item_added", llm.RemoteItemAddedEvent(previous, reported))

    async def update_instructions(self, instructions: str) -> None:
        """Do nothing: the script does not depend on the instructions."""

    async def update_chat_ctx(self, chat_ctx: llm.ChatContext) -> None:
        # The server's own items stay unchanged; LiveKit's copy of the current speech is empty.
        own = {item.id: item for item in self._context.items}
        self._context = llm.ChatContext([own.get(item.id, item) for item in chat_ctx.items])
        news = [item for item in chat_ctx.items if item.id not in own]
        if self.capabilities.auto_tool_reply_generation and any(
            item.type == "function_call_output" for item in news
        ):
            self._respond()

    async def update_tools(self, tools: list[llm.Tool]) -> None:
        self._offered = llm.ToolContext(tools)

    def update_options(self, *, tool_choice: NotGivenOr[llm.ToolChoice | None] = NOT_GIVEN) -> None:
        if is_given(tool_choice):
            self._tool_choice = tool_choice

    def push_audio(self, frame: rtc.AudioFrame) -> None:
        speech = self._ear.hear(frame)
        if not self.capabilities.turn_detection:
            return
        if speech == "starts":
            self.interrupt()
            self.emit("input_speech_started", llm.InputSpeechStartedEvent())
        elif speech == "ends":
            stopped = llm.InputSpeechStoppedEvent(user_transcription_enabled=True)
            self.emit("input_speech_stopped", stopped)
            if self.commit_audio():
                self._respond()

    def push_video(self, frame: rtc.VideoFrame) -> None:
        """Do nothing: it has no vision."""

    def commit_audio(self) -> bool:  # type: ignore[override]
        """The user's turn has ended; False if it was noise."""
        text, delay = self._ear.take()
        if text:
            item = llm.ChatMessage(role="user", content=[text])
            self.remember(item)
            heard = llm.InputTranscriptionCompleted(item.id, transcript=text, is_final=True)
            loop = asyncio.get_running_loop()
            event = "input_audio_transcription_completed"
            self._timers.append(loop.call_later(delay, self.emit, event, heard))
        return bool(text)

    def clear_audio(self) -> None:
        self._ear.clear()

    def generate_reply(
        self,
        *,
        instructions: NotGivenOr[str] = NOT_GIVEN,
        tool_choice: NotGivenOr[llm.ToolChoice] = NOT_GIVEN,
        tools: NotGivenOr[list[llm.Tool]] = NOT_GIVEN,
    ) -> asyncio.Future[llm.GenerationCreatedEvent]:
        created: asyncio.Future[llm.GenerationCreatedEvent] = asyncio.Future()
        chosen = tool_choice if is_given(tool_choice) else self._tool_choice
        self._respond(created, instructions or None, may_call=chosen != "none")
        return created

    def interrupt(self) -> None:
        if self._response is not None:
            self._response.cancel()

    def truncate(
        self,
        *,
        message_id: str,
        modalities: list[Literal["text", "audio"]],
        audio_end_ms: int,
        audio_transcript: NotGivenOr[str] = NOT_GIVEN,
    ) -> None:
        item = self._context.get_by_id(message_id)
        if isinstance(item, llm.ChatMessage):
            item.content = [audio_transcript or ""]

    async def aclose(self) -> None:
        for timer in self._timers:
            timer.cancel()
        await aio.cancel_and_wait(*self._tasks)

    def _respond(
        self,
        created: asyncio.Future[llm.GenerationCreatedEvent] | None = None,
        instructions: str | None = None,
        may_call: bool = True,
    ) -> None:
        self.interrupt()
        self._count += 1
        self._response = _Response(self._owner, self, f"response_{self._count}", created)
        task = asyncio.create_task(self._response.run(instructions, may_call))
        self._response.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Response:
    """One response, from the request to the last word."""

    task: asyncio.Task[None]
    _begun = False

    def __init__(
        self,
        owner: ScriptedRealtime,
        session: _Session,
        id: str,
        created: asyncio.Future[llm.GenerationCreatedEvent] | None,
    ) -> None:
        self._owner, self._session, self._id, self._created_event = owner, session, id, created
        self._messages: aio.Chan[llm.MessageGeneration] = aio.Chan()
        self._functions: aio.Chan[llm.FunctionCall] = aio.Chan()
        self._open: list[aio.Chan[Any]] = [self._messages, self._functions]
        if created is not None:
            created.add_done_callback(self._withdrawn)

    def cancel(self) -> None:
        """Stop generating. Already sent output stays."""
        self.task.cancel()
        if not self._begun:  # the task never runs
            self._close()

    def _withdrawn(self, created: asyncio.Future[llm.GenerationCreatedEvent]) -> None:
        if created.cancelled():
            self.cancel()

    async def run(self, instructions: str | None, may_call: bool) -> None:
        """Answer the session's current conversation."""
        self._begun = True
        context = self._session.chat_ctx
        if instructions:
            context.add_message(role="developer", content=instructions)
        offered = self._session.tools.flatten()
        request, reply = self._owner.answers.ask(context, offered, realtime=True, may_call=may_call)
        begun = time.time()
        try:
            await asyncio.sleep(reply.ttft)
            self._created()
            if reply.text:
                await self._say(reply)
            for call in map(self._owner.answers.call_of, reply.calls):
                self._session.remember(call)
                self._functions.send_nowait(call)
            request.outcome = "complete"
        finally:
            self._ended(request, begun)

    def _created(self) -> None:
        event = llm.GenerationCreatedEvent(
            message_stream=self._messages,
            function_stream=self._functions,
            user_initiated=self._created_event is not None,
            response_id=self._id,
        )
        self._session.emit("generation_created", event)
        if self._created_event is not None and not self._created_event.done():
            self._created_event.set_result(event)

    async def _say(self, reply: Reply) -> None:
        text, audio = aio.Chan[str](), aio.Chan[rtc.AudioFrame]()
        self._open += [text, audio]
        spoken = self._owner.capabilities.audio_output
        modalities: asyncio.Future[list[Literal["text", "audio"]]] = asyncio.Future()
        modalities.set_result(["audio", "text"] if spoken else ["text"])
        item = llm.ChatMessage(role="assistant", content=[reply.text])
        self._session.remember(item)
        self._messages.send_nowait(llm.MessageGeneration(item.id, text, audio, modalities))
        for frame in self._owner.voice.frames(reply.text) if spoken else ():
            audio.send_nowait(frame)
        audio.close()
        words = reply.text.split(" ")
        for i, word in enumerate(words):
            text.send_nowait(word if i == len(words) - 1 else word + " ")
            await asyncio.sleep(reply.duration / len(words))
        text.close()

    def _ended(self, request: Request, begun: float) -> None:
        cancelled = request.outcome == "running"
        request.outcome = "cancelled" if cancelled else request.outcome
        request.ended = asyncio.get_running_loop().time()
        self._owner.answers.tell(request)
        self._close()
        self._session.emit("metrics_collected", self._metrics(begun, cancelled))

    def _close(self) -> None:
        for channel in self._open:
            channel.close()
        if self._created_event is not None and not self._created_event.done():
            self._created_event.set_exception(llm.RealtimeError("the response was cancelled"))

    def _metrics(self, begun: float, cancelled: bool) -> RealtimeModelMetrics:
        return RealtimeModelMetrics(
            label=self._owner.label,
            request_id=self._id,
            timestamp=begun,
            duration=time.time() - begun,
            cancelled=cancelled,
            input_token_details=RealtimeModelMetrics.InputTokenDetails(),
            output_token_details=RealtimeModelMetrics.OutputTokenDetails(),
        )
