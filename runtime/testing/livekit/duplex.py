"""A scripted model that owns its turns: it listens while it speaks, and stops by itself."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit import rtc
from livekit.agents import NOT_GIVEN, llm
from livekit.agents.types import NotGivenOr
from livekit.agents.utils import aio

from .ear import Ear
from .scripted_llm import Reply, ScriptedLLM
from .user import ScriptedUser, code_of, silence
from .voice import ScriptedTTS

__all__ = ["ScriptedDuplex"]


class ScriptedDuplex(llm.DuplexModel):
    """A duplex model: it hears `user`, answers like `model`, and speaks with `voice`.

    It does not learn of interruptions and cannot be stopped. It replies to tool results by itself.

    Args:
        user: The user.
        model: Its answers.
        voice: The durations of its sentences.
        silence: Seconds of silence after which it answers.
        yields_after: It stops when the user has spoken for this many seconds; ``inf``: never.

    Example:
        >>> from turnfsm.testing import ScriptedDuplex, ScriptedLLM, ScriptedTTS, ScriptedUser
        >>> user = ScriptedUser().says("hello", at=1.0)
        >>> model = ScriptedDuplex(user, ScriptedLLM({"hello": "Hi."}), ScriptedTTS())
    """

    def __init__(
        self,
        user: ScriptedUser,
        model: ScriptedLLM,
        voice: ScriptedTTS,
        *,
        silence: float = 0.5,
        yields_after: float = 0.3,
    ) -> None:
        super().__init__(
            capabilities=llm.DuplexCapabilities(
                user_transcription=True, auto_tool_reply_generation=True, mutable_tools=True
            )
        )
        self.user, self.answers, self.voice = user, model, voice
        self.silence, self.yields_after = silence, yields_after
        self.sessions: list[_Session] = []

    @property
    def model(self) -> str:
        return "scripted"

    @property
    def provider(self) -> str:
        return "turnfsm"

    def audio_gate(self) -> Any:
        return _Gate()

    def session(self) -> llm.DuplexSession[Any]:
        self.sessions.append(_Session(self))
        return self.sessions[-1]

    def repeat(self) -> None:
        """Report the last call again, as after a retry."""
        session = self.sessions[-1]
        session.emit("function_call", session.last)

    async def aclose(self) -> None:
        """Nothing to close: LiveKit closes the sessions."""


class _Gate:
    """Open while a frame has sound."""

    def update(self, frame: rtc.AudioFrame) -> bool:
        return any(frame.data)

    def deactivate(self) -> None:
        """It remembers nothing."""


class _Session(llm.DuplexSession[Any]):
    def __init__(self, owner: ScriptedDuplex) -> None:
        super().__init__(owner)
        self._owner = owner
        self._context = llm.ChatContext.empty()
        self._offered = llm.ToolContext.empty()
        self._ear = Ear(owner.user, owner.silence)
        self._spoken = 0.0  # seconds that the user has spoken without a pause
        self._output: aio.Chan[llm.DuplexAudioFrame] = aio.Chan()
        self._mouth = asyncio.Lock()
        self._saying: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.last: llm.FunctionCall
        """The last call."""

    @property
    def audio_stream(self) -> aio.Chan[llm.DuplexAudioFrame]:
        return self._output

    @property
    def chat_ctx(self) -> llm.ChatContext:
        """The conversation on the model's side: speech that it heard, its own, and results."""
        return self._context.copy()

    @property
    def tools(self) -> llm.ToolContext:
        return self._offered

    def push_audio(self, frame: rtc.AudioFrame) -> None:
        speech = self._ear.hear(frame)
        self._spoken = self._spoken + frame.duration if code_of(frame) else 0.0
        if self._spoken >= self._owner.yields_after and self._saying is not None:
            self._saying.cancel()
        if speech == "starts":
            self.emit("input_speech_started", llm.InputSpeechStartedEvent())
        elif speech == "ends":
            self.emit("input_speech_stopped", llm.InputSpeechStoppedEvent(True))
            self._take_turn()

    async def _update_instructions(self, instructions: str) -> None:
        """Do nothing: the script does not depend on the instructions."""

    async def _update_tools(self, tools: list[llm.Tool]) -> None:
        self._offered = llm.ToolContext(tools)

    def _update_options(
        self, *, tool_choice: NotGivenOr[llm.ToolChoice | None] = NOT_GIVEN
    ) -> None:
        """Do nothing: the script chooses the tools."""

    async def _append_items(self, items: list[llm.ChatItem]) -> None:
        self._context.insert(items)
        if any(item.type == "function_call_output" for item in items):
            self._begin(self._respond())

    def _generate_reply(self, *, instructions: NotGivenOr[str] = NOT_GIVEN, **_: Any) -> None:
        self._begin(self._respond(instructions or None))

    async def aclose(self) -> None:
        await super().aclose()
        await aio.cancel_and_wait(*self._tasks)
        self._output.close()

    def _take_turn(self) -> None:
        text, _ = self._ear.take()
        if text:
            message = self._context.add_message(role="user", content=text)
            heard = llm.InputTranscriptionCompleted(message.id, transcript=text, is_final=True)
            self.emit("input_audio_transcription_completed", heard)
            self._begin(self._respond())

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _respond(self, instructions: str | None = None) -> None:
        context = self.chat_ctx
        if instructions:
            context.add_message(role="developer", content=instructions)
        request, reply = self._owner.answers.ask(context, self.tools.flatten(), realtime=True)
        await asyncio.sleep(reply.ttft)
        self._delegate(reply)
        if reply.text:
            await self._say(reply.text)
        request.outcome = "complete"
        request.ended = asyncio.get_running_loop().time()
        self._owner.answers.tell(request)

    def _delegate(self, reply: Reply) -> None:
        for call in map(self._owner.answers.call_of, reply.calls):
            self._context.insert(call)
            self.last = call
            self.emit("function_call", call)

    async def _say(self, text: str) -> None:
        async with self._mouth:
            self._saying = asyncio.create_task(self._sound(text))
            await asyncio.wait({self._saying})
            self._saying = None
            self._send(silence())  # ends it

    async def _sound(self, text: str) -> None:
        frames, words = self._owner.voice.frames(text), text.split(" ")
        for i, frame in enumerate(frames):
            begun = range(i * len(words) // len(frames), (i + 1) * len(words) // len(frames))
            for word in begun:
                self.emit("transcript_delta", llm.DuplexOutputTranscriptDelta(words[word] + " "))
            self._send(frame)
            await asyncio.sleep(frame.duration)

    def _send(self, frame: rtc.AudioFrame) -> None:
        self._output.send_nowait(llm.DuplexAudioFrame(frame))
