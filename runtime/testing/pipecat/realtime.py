"""A scripted server with the protocol of OpenAI Realtime, for Pipecat's own realtime services."""

from __future__ import annotations

import asyncio
import json
import struct
from array import array
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from pipecat.services.llm_service import LLMService
from pipecat.services.openai.realtime.events import (
    AudioConfiguration,
    AudioInput,
    InputAudioTranscription,
    SessionProperties,
    TurnDetection,
)
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from websockets.asyncio.server import Server, ServerConnection, serve

from .parts import LEVEL, WORD, Messages, Model

__all__ = ["RATE_OF_SERVER", "MakeService", "RealtimeServer", "grok", "openai"]


class MakeService(Protocol):
    """Makes a service that connects to a URL."""

    def __call__(self, url: str, transcribes: bool, server_vad: bool) -> LLMService[Any]:
        """Make it.

        Args:
            transcribes: The server may give transcripts.
            server_vad: The server detects the turns, and answers by itself.
        """


RATE_OF_SERVER = 24_000
SAMPLED = RATE_OF_SERVER // 100  # the user's audio is looked at every 10 ms
LEAST = 0.1  # seconds of audio that can be committed
CANCELS = 0.05  # seconds until a response that was cancelled stops
TRANSCRIBES = 0.6  # seconds from a commit to the transcript
VAD = 0.5  # seconds of silence that end a turn

_USAGE: dict[str, Any] = {
    **{"total_tokens": 0, "input_tokens": 0, "output_tokens": 0},
    **{"input_token_details": {}, "output_token_details": {}},
}


def openai(url: str, transcribes: bool, server_vad: bool) -> OpenAIRealtimeLLMService:
    """The service for OpenAI Realtime."""
    transcription = InputAudioTranscription() if transcribes else None
    detection = TurnDetection() if server_vad else False
    hears = AudioInput(turn_detection=detection, transcription=transcription)
    properties = SessionProperties(audio=AudioConfiguration(input=hears))
    settings = OpenAIRealtimeLLMService.Settings(session_properties=properties)
    return OpenAIRealtimeLLMService(api_key="none", base_url=url, settings=settings)


def grok(url: str, transcribes: bool, server_vad: bool) -> LLMService[Any]:
    """The service for xAI's Grok."""
    from pipecat.services.xai.realtime import events
    from pipecat.services.xai.realtime.llm import GrokRealtimeLLMService

    detection = events.TurnDetection() if server_vad else None
    properties = events.SessionProperties(turn_detection=detection)
    settings = GrokRealtimeLLMService.Settings(session_properties=properties)
    return GrokRealtimeLLMService(api_key="none", base_url=url, settings=settings)


class RealtimeServer:
    """Answers like a scripted model, in audio, what it hears.

    It recognises an utterance by the level of its audio, which the `Microphone` counts up.

    Args:
        answer: The model's answer to the conversation that the server keeps.
        asked: Called with the conversation at each response.
        words: Each word of its audio is added here, as by a `Voice`.
        utterances: What the user has said so far; a noise is empty.
        make: Makes the service that connects to it.

    Attributes:
        conversation: What it keeps, as messages. An interrupted answer ends where it was truncated.
        events: The types of the events that it got, except audio.
        transcribes: It gives transcripts of what it hears.
        server_vad: It detects the turns, and answers without being asked.
        answers: It does answer.
    """

    _server: Server
    _socket: ServerConnection

    def __init__(
        self,
        answer: Model,
        asked: Callable[[Messages], None],
        words: list[str],
        utterances: Sequence[str],
        make: MakeService = openai,
    ) -> None:
        self._answer, self._asked = answer, asked
        self._words, self._utterances, self._make = words, utterances, make
        self.conversation: Messages = []
        self.events: list[str] = []
        self.transcribes = self.server_vad = False
        self.answers = True
        self._answers: dict[str, dict[str, Any]] = {}
        self._audio = bytearray()
        self._count = 0
        self._response: asyncio.Task[None] | None = None
        self._silence: float | None = None  # seconds since the user has stopped
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> RealtimeServer:
        self._server = await serve(self._serve, "127.0.0.1", 0, ping_interval=None)
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        self._server.close()
        await self._server.wait_closed()

    def service(self) -> LLMService[Any]:
        """A service that connects to it."""
        port = next(iter(self._server.sockets)).getsockname()[1]
        return self._make(f"ws://127.0.0.1:{port}", self.transcribes, self.server_vad)

    async def _serve(self, socket: ServerConnection) -> None:
        self._socket = socket
        await self._send("session.created", session={})
        conversation = {"id": "conversation", "object": "realtime.conversation"}
        await self._send("conversation.created", conversation=conversation)
        async for text in socket:
            event = json.loads(text)
            if event["type"] != "input_audio_buffer.append":
                self.events.append(event["type"])
            await self._take(event)

    async def _take(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "session.update":
                await self._send("session.updated", session={})
            case "input_audio_buffer.append":
                await self._hear(b64decode(event["audio"]))
            case "input_audio_buffer.clear":
                self._audio.clear()
            case "input_audio_buffer.commit":
                await self._commit()
            case "conversation.item.create":
                await self._add(event["item"])
            case "conversation.item.truncate":
                message = self._answers[event["item_id"]]
                heard = round(event["audio_end_ms"] / 1000 / WORD)
                message["content"] = " ".join(message["content"].split()[:heard])
            case "response.create" if self._response is not None:
                await self._error("conversation_already_has_active_response")
            case "response.create":
                self._response = self._start(self._respond())
            case "response.cancel" if self._response is None:
                await self._error("response_cancel_not_active")
            case "response.cancel":
                self._start(self._cancel())

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send(self, type: str, **fields: Any) -> None:
        await self._socket.send(json.dumps({"event_id": "event", "type": type, **fields}))

    async def _error(self, code: str) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": code}
        await self._send("error", error=error)

    # -- what it hears

    async def _hear(self, audio: bytes) -> None:
        self._audio += audio
        if not self.server_vad:
            return
        if max(array("h", audio)) > LEVEL / 2:
            if self._silence is None:
                place = {"audio_start_ms": 0, "item_id": "next"}
                await self._send("input_audio_buffer.speech_started", **place)
                if self._response is not None:
                    self._response.cancel()
            self._silence = 0.0
        elif self._silence is not None:
            self._silence += len(audio) / 2 / RATE_OF_SERVER
            if self._silence >= VAD:
                self._silence = None
                place = {"audio_end_ms": 0, "item_id": "next"}
                await self._send("input_audio_buffer.speech_stopped", **place)
                await self._commit()
                if self.answers:
                    self._response = self._start(self._respond())

    async def _commit(self) -> None:
        if len(self._audio) < LEAST * RATE_OF_SERVER * 2:
            await self._error("input_audio_buffer_commit_empty")
            return
        text = self._recognise()
        self._audio.clear()
        id = self._id("user")
        self.conversation.append({"role": "user", "content": text})
        item = {"id": id, "type": "message", "role": "user", "content": []}
        await self._send("conversation.item.added", item=item)
        if self.transcribes:
            self._start(self._transcribe(id, text))

    def _recognise(self) -> str:
        samples = array("h", bytes(self._audio))[::SAMPLED]
        levels = [round(sample / LEVEL) for sample in samples if sample]
        often = [level for level, times in Counter(levels).items() if level and times > 2]
        return " ".join(self._utterances[level - 1] or "(noise)" for level in often)

    async def _transcribe(self, id: str, text: str) -> None:
        await asyncio.sleep(TRANSCRIBES)
        done = "conversation.item.input_audio_transcription.completed"
        await self._send(done, item_id=id, content_index=0, transcript=text)

    async def _add(self, item: dict[str, Any]) -> None:
        if item["type"] == "function_call_output":
            call = {"tool_call_id": item["call_id"], "content": item["output"]}
            self.conversation.append({"role": "tool", **call})
        else:
            text = " ".join(part.get("text") or "" for part in item["content"])
            self.conversation.append({"role": item["role"], "content": text})
        await self._send("conversation.item.added", item=item)

    # -- what it says

    async def _respond(self) -> None:
        messages = [dict(message) for message in self.conversation]
        self._asked(messages)
        says, status = self._answer(messages), "completed"
        response: dict[str, Any] = {"id": self._id("response"), "object": "realtime.response"}
        response |= {"output": [], "status_details": None}
        await self._send("response.created", response={**response, "status": "in_progress"})
        try:
            await asyncio.sleep(says.after)
            if says.fails:
                status = "failed"
            elif says.text:
                await self._speak(says.text, says.each, response["id"])
            for name, arguments in () if says.fails else says.calls:
                await self._call(name, json.dumps(arguments), response["id"])
        except asyncio.CancelledError:
            status = "cancelled"
        self._response = None
        if status == "failed":
            response["status_details"] = {"error": {"message": "scripted"}}
        await self._send("response.done", response={**response, "status": status, "usage": _USAGE})

    async def _speak(self, text: str, each: float, response: str) -> None:
        id = self._id("answer")
        message = self._answers[id] = {"role": "assistant", "content": ""}
        self.conversation.append(message)
        item = {"id": id, "type": "message", "role": "assistant", "content": []}
        await self._send("conversation.item.added", item=item)
        place = {"response_id": response, "item_id": id, "output_index": 0, "content_index": 0}
        for word in text.split():
            message["content"] = f"{message['content']} {word}".strip()
            self._words.append(word)
            audio = struct.pack("<h", len(self._words)) * int(RATE_OF_SERVER * WORD)
            await self._send("response.output_audio_transcript.delta", delta=f"{word} ", **place)
            delta = b64encode(audio).decode()
            await self._send("response.output_audio.delta", delta=delta, **place)
            await asyncio.sleep(each)

    async def _call(self, name: str, arguments: str, response: str) -> None:
        id = self._id("call")
        call = {"call_id": id, "arguments": arguments}
        function = {"id": id, "type": "function", "function": {**call, "name": name}}
        self.conversation.append({"role": "assistant", "tool_calls": [function]})
        item = {"id": f"item_{id}", "type": "function_call", "name": name, **call}
        await self._send("conversation.item.added", item=item)
        place = {"response_id": response, "item_id": item["id"], "output_index": 0}
        await self._send("response.function_call_arguments.done", name=name, **place, **call)

    async def _cancel(self) -> None:
        response = self._response
        await asyncio.sleep(CANCELS)
        if response is not None:
            response.cancel()

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"
