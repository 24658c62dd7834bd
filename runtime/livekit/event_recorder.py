"""Records the public events of a session, `AgentSession` or `TurnSession`."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from livekit import rtc
from livekit.agents.version import __version__ as LIVEKIT

from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.event_file import EventFile, hashed_arguments, hashed_transcript, hashed_words
from turnfsm.runtime.livekit.stock import AgentSession

from .overrides.components import closed_by, failure_of

__all__ = ["EventRecorder", "SessionEvents"]

_CHECK_INTERVAL = 0.1
"""Seconds between two checks of the speeches that are not done."""

_LATE = 30.0
"""Seconds after which a close is recorded as late."""


logger = logging.getLogger("turnfsm")

Take = Callable[[float, str, Mapping[str, Any]], None]
"""Takes an event: the seconds since the beginning, its name and its fields, without text of the
conversation."""


class SessionEvents:
    """Listens to the public events of a session. Works with any `AgentSession`.

    Args:
        session: An `AgentSession`, before it is started.
        take: Takes the events.
    """

    def __init__(self, session: AgentSession[Any], take: Take) -> None:
        self._take = take
        self._key = secrets.token_bytes(32)
        self._began = time.time()
        self._session = session
        self._output: Any = None
        self._open: set[Any] = set()
        self._interruptible: set[Any] = set()
        self._watch_close()
        for name in _FIELDS:
            # not session.on, which warns of metrics_collected each time
            rtc.EventEmitter.on(session, name, self._listener(name))  # type: ignore[misc]

    def _listener(self, name: str) -> Callable[[Any], None]:
        def record(event: Any) -> None:
            self._listen_to_output()
            fields = _FIELDS[name](self, event)
            if fields is not None:
                self._record(name, fields)
            if name == "speech_created":
                self._follow(event.speech_handle)

        return record

    def _follow(self, speech: Any) -> None:
        def done(handle: Any) -> None:
            self._open.discard(handle)
            self._interruptible.discard(handle)
            self._record("speech_done", {"speech": handle.id, "interrupted": handle.interrupted})

        speech.add_done_callback(done)
        self._open.add(speech)
        self._interruptible |= {speech} if speech.allow_interruptions else set()
        if len(self._open) == 1:
            asyncio.get_running_loop().call_later(_CHECK_INTERVAL, self._check)

    def _watch_close(self) -> None:
        """LiveKit emits an event when a close ends, but none when it begins, so `aclose` is
        wrapped."""
        close = self._session.aclose

        async def aclose() -> None:
            late = asyncio.get_running_loop().call_later(_LATE, self._record, "close_late", {})
            try:
                await close()
            finally:
                late.cancel()

        self._session.aclose = aclose  # type: ignore[method-assign]
        self._session.once("close", lambda _: vars(self._session).pop("aclose", None))

    def _check(self) -> None:
        """LiveKit emits no event when a speech is interrupted, only later, when the speech is
        done, and none when it becomes uninterruptible."""
        for speech in tuple(self._open):
            if speech in self._interruptible and not speech.allow_interruptions:
                self._interruptible.discard(speech)
                self._record("interruptions_disallowed", {"speech": speech.id})
            if speech.interrupted:
                self._open.discard(speech)
                self._record("speech_interrupted", {"speech": speech.id})
        if self._open:
            asyncio.get_running_loop().call_later(_CHECK_INTERVAL, self._check)

    def _listen_to_output(self) -> None:
        output = self._session.output.audio
        if output is None or output is self._output:
            return
        self._output = output
        output.on("playback_started", lambda event: self._record("playback_started", {}))
        output.on("playback_finished", self._finished)

    def _finished(self, event: Any) -> None:
        played = {"position": event.playback_position, "interrupted": event.interrupted}
        self._record("playback_finished", played)

    def _words(self, text: str | None) -> list[str]:
        return hashed_words(text, self._key)

    def _record(self, name: str, fields: Mapping[str, Any]) -> None:
        self._take(round(time.time() - self._began, 6), name, fields)

    # -- the fields of each event

    def _state(self, event: Any) -> dict[str, Any]:
        return {"old": event.old_state, "new": event.new_state}

    def _transcript(self, event: Any) -> dict[str, Any] | None:
        return hashed_transcript(event.transcript, self._key) if event.is_final else None

    def _item(self, event: Any) -> dict[str, Any]:
        item = event.item
        fields = {"type": item.type, "id": item.id}
        if item.type == "message":
            fields |= {"role": item.role, "interrupted": item.interrupted}
            fields["words"] = self._words(item.text_content)
        elif item.type in ("function_call", "function_call_output"):
            fields["call"] = item.call_id
        elif item.type == "agent_handoff":
            fields |= {"from": item.old_agent_id, "to": item.new_agent_id}
        return fields

    def _resumed(self, event: Any) -> dict[str, Any]:
        return {"resumed": event.resumed}

    def _speech(self, event: Any) -> dict[str, Any]:
        speech = event.speech_handle
        fields = {"speech": speech.id, "source": event.source}
        return fields | {"interruptible": speech.allow_interruptions}

    def _tool(self, event: Any) -> dict[str, Any] | None:
        update = event.update
        match update.type:
            case "tool_call_started":
                call = update.function_call
                arguments = hashed_arguments(call.arguments, self._key)
                fields = {"call": call.call_id, "name": call.name, "arguments": arguments}
                return {"update": "started", **fields}
            case "tool_call_updated":
                return {"update": "updated", "call": update.call_id}
            case "tool_call_ended":
                ended = {"update": "ended", "call": update.call_id, "status": update.status}
                return ended | {"result": bool(update.message)}
            case _:
                return None

    def _executed(self, event: Any) -> dict[str, Any]:
        calls = [call.call_id for call in event.function_calls]
        return {"calls": calls, "reply": event.has_tool_reply, "handoff": event.has_agent_handoff}

    def _metrics(self, event: Any) -> dict[str, Any] | None:
        metrics = event.metrics
        if metrics.type != "llm_metrics":
            return None
        fields = {"of": "llm", "speech": metrics.speech_id, "cancelled": metrics.cancelled}
        return fields | {"duration": metrics.duration, "ttft": metrics.ttft}

    def _on_error_event(self, event: Any) -> dict[str, Any]:
        failure = failure_of(event.error)
        fields = failure.fields() if failure is not None else {}
        fields.pop("message", None)  # it may contain text of the conversation
        return {"kind": type(event.error).__name__, **fields}

    def _close(self, event: Any) -> dict[str, Any]:
        closed = closed_by(event.reason, event.error)
        return closed.fields()


_FIELDS: dict[str, Callable[[SessionEvents, Any], dict[str, Any] | None]] = {
    "agent_state_changed": SessionEvents._state,
    "user_state_changed": SessionEvents._state,
    "user_input_transcribed": SessionEvents._transcript,
    "conversation_item_added": SessionEvents._item,
    "agent_false_interruption": SessionEvents._resumed,
    "speech_created": SessionEvents._speech,
    "tool_execution_updated": SessionEvents._tool,
    "function_tools_executed": SessionEvents._executed,
    "metrics_collected": SessionEvents._metrics,
    "error": SessionEvents._on_error_event,
    "close": SessionEvents._close,
}


class EventRecorder(SessionEvents):
    """Records the events of a session for `turnfsm audit`. Works with any `AgentSession`.

    It stores no text of the conversation, only a keyed hash of each word and of each argument of a
    tool, so that the audit can detect lost words and repeated calls. The key is
    not stored.

    Args:
        session: An `AgentSession`, before it is started.
        target: The path of a new file, a folder (``"recordings/"``) for a new file of its own, or
            an open text file.

    Raises:
        JournalError: The file exists or cannot be created.
        TurnfsmError: The first argument is no session.

    Example:
        >>> import io
        >>> from livekit.agents import AgentSession
        >>> from turnfsm.livekit import EventRecorder
        >>> session = AgentSession()
        >>> recorder = EventRecorder(session, io.StringIO())  # before session.start(agent)
    """

    def __init__(self, session: AgentSession[Any], target: str | Path | IO[str]) -> None:
        if not isinstance(session, AgentSession):
            raise TurnfsmError(f"{session!r} is no session; EventRecorder(session, 'recordings/')")
        if session.agent_state != "initializing":
            logger.warning(
                "the session has started, so its first events are not recorded; make the "
                "EventRecorder before session.start"
            )
        began = {"livekit": LIVEKIT, "started_at": round(time.time(), 3)}
        super().__init__(session, EventFile(target, began).event)
