"""Records the events and log lines of a session as an `Outcome`."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

from livekit.agents.voice import SpeechHandle
from livekit.agents.voice import events as ev

from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.heard import TimelineEntry

from .outcome import Outcome, Speech, ToolRun
from .scripted_llm import Request

__all__ = ["Recorder"]

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # differs from run to run


def found_by_collector(text: str) -> bool:
    """Whether the garbage collector reports this error; it may belong to an earlier stage."""
    return "never retrieved" in text or "destroyed but it is pending" in text


class Recorder(logging.Handler):
    """Listens to a session's public events and to the log, on the clock of the running loop."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.outcome = Outcome()
        self._loop = asyncio.get_running_loop()
        self._origin = self._loop.time()
        self.on_update: Callable[[str], None] | None = None
        """Called with the id of each output that is an update of a running tool."""

    @property
    def now(self) -> float:
        return round(self._loop.time() - self._origin, 6)

    def add(self, lane: str, what: str, at: float | None = None) -> None:
        """Add a line to the timeline, now or at an earlier time of the stage."""
        what = _ADDRESS.sub("", what)
        self.outcome.events.append(TimelineEntry(self.now if at is None else at, lane, what))

    def note(self, what: str) -> None:
        """Add a note of the scenario."""
        self.outcome.notes.append((self.now, what))
        self.outcome.marks.setdefault(what, self.now)
        self.add("note", what)

    def attach(self, session: AgentSession[Any]) -> None:
        """Listen to every event of the session that the timeline shows."""
        session.on("agent_state_changed", self._on_agent_state)
        session.on("user_state_changed", self._on_user_state)
        session.on("user_input_transcribed", self._on_transcript)
        session.on("conversation_item_added", self._on_item)
        session.on("agent_false_interruption", self._on_false_interruption)
        session.on("tool_execution_updated", self._on_tool)
        session.on("speech_created", self._on_speech)
        session.on("close", lambda close: self.add("session", f"close: {close.reason.value}"))

    def on_request(self, request: Request) -> None:
        """The `ScriptedLLM` reports a new request, or the end of one."""
        if request.ended is not None:
            request.ended = self.now
            self.add("llm", request.outcome)
            return
        request.at = self.now
        request.finished_calls = frozenset(
            run.call_id for run in self.outcome.tools if run.end is not None
        )
        self.outcome.requests.append(request)
        self.add("llm", f"request for {request.prompt}")
        if request.hint:
            self.add("llm", f"hint: {request.hint}")

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().splitlines()[0]
        if found_by_collector(text):
            return
        if record.exc_info and record.exc_info[1] is not None:
            text += f" [{record.exc_info[1]!r}]"
        error = record.levelno >= logging.ERROR
        (self.outcome.errors if error else self.outcome.warnings).append((self.now, text))
        self.add("error" if error else "warning", text)

    def unhandled(self, text: str) -> None:
        """An error that only reached the event loop."""
        self.outcome.errors.append((self.now, text))
        self.add("error", text)

    def _on_agent_state(self, event: ev.AgentStateChangedEvent) -> None:
        self.outcome.agent_states.append((self.now, event.new_state))
        self.add("agent", f"{event.old_state} -> {event.new_state}")

    def _on_user_state(self, event: ev.UserStateChangedEvent) -> None:
        self.outcome.user_states.append((self.now, event.new_state))
        self.add("user", f"{event.old_state} -> {event.new_state}")

    def _on_transcript(self, event: ev.UserInputTranscribedEvent) -> None:
        self.add("stt", f"{'final' if event.is_final else 'interim'}: {event.transcript}")

    def _on_item(self, event: ev.ConversationItemAddedEvent) -> None:
        item = event.item
        if item.type == "message":
            mark = " (interrupted)" if item.interrupted else ""
            line = f"{item.role}: {item.text_content or ''}{mark}"
        else:
            line = item.type
        self.outcome.items.append((self.now, line))
        self.add("context", line)

    def _on_false_interruption(self, event: ev.AgentFalseInterruptionEvent) -> None:
        self.outcome.false_interruptions.append((self.now, event.resumed))
        self.add("agent", f"false interruption, resumed={event.resumed}")

    def _on_tool(self, event: ev.ToolExecutionUpdatedEvent) -> None:
        update = event.update
        if isinstance(update, ev.ToolCallStarted):
            call = update.function_call
            self.outcome.tools.append(
                ToolRun(call.name, call.call_id, self.now, arguments=call.arguments)
            )
            self.add("tool", f"{call.name} {call.call_id} started")
        elif isinstance(update, ev.ToolCallEnded):
            self._tool_ended(update)
        elif isinstance(update, ev.ToolCallUpdated):
            self.add("tool", f"{update.call_id} update: {update.message}")
            if self.on_update is not None:
                self.on_update(update.id)
        else:
            self.add("tool", f"reply {update.status}")

    def _tool_ended(self, update: ev.ToolCallEnded) -> None:
        self.add("tool", f"{update.call_id} {update.status}: {update.message}")
        for run in self.outcome.tools:
            if run.call_id == update.call_id and run.end is None:
                run.end, run.status, run.message = self.now, update.status, update.message

    def _on_speech(self, event: ev.SpeechCreatedEvent) -> None:
        number = len(self.outcome.speeches) + 1
        speech = Speech(number, event.source, self.now)
        self.outcome.speeches.append(speech)
        self.add("speech", f"#{number} created by {event.source}")

        def done(handle: SpeechHandle) -> None:
            speech.done, speech.interrupted = self.now, handle.interrupted
            how = "interrupted" if handle.interrupted else "done"
            self.add("speech", f"#{number} {how}")

        event.speech_handle.add_done_callback(done)
