"""Records what happens in a Pipecat pipeline, governed or not."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from pipecat.frames import frames as f
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMUserAggregator,
)
from pipecat.processors.frame_processor import FrameDirection

from turnfsm.fsm.audit.events import Evidence
from turnfsm.runtime.event_file import EventFile, hashed_arguments, hashed_transcript, hashed_words

from .calls import GovernedResult
from .failures import failure_of
from .requests import RUNS, call_status, text_of

__all__ = ["FrameEvents", "FrameRecorder"]

AGGREGATORS = LLMUserAggregator, LLMAssistantAggregator

_LACKS = (
    Evidence.REPLIES,
    Evidence.INTERRUPTIONS,
    Evidence.INTERRUPTIBLE,
    Evidence.STATES,
    Evidence.RESUMES,
    Evidence.HANDOFFS,
    Evidence.CLOSING,
)


class FrameEvents(BaseObserver):
    """Translates the frames of a pipeline to events for the audit. Does not change the pipeline.

    Args:
        take: Takes the events: the seconds since the beginning, the name and the fields, without
            the text of the conversation.
    """

    def __init__(self, take: Callable[[float, str, Mapping[str, Any]], None]) -> None:
        super().__init__(observe_every_push=False)
        self._began = time.time()
        self._take = take
        self._key = secrets.token_bytes(32)
        self._context: LLMContext | None = None
        self._seen = 0
        self._committed: set[str] = set()
        self._recorded: set[tuple[str, str]] = set()
        self._speeches = 0
        self._speech: str | None = None
        self._speaks = self._plays = self._cut = self._has_vad = self._closed = False
        self._awaited = self._worded = False  # a response that is not heard yet; it has text

    async def on_push_frame(self, data: FramePushed) -> None:
        """Record a frame, when it is pushed for the first time."""
        self._read_context()
        match frame := data.frame:
            case f.VADUserStartedSpeakingFrame() | f.VADUserStoppedSpeakingFrame():
                self._has_vad = True
                self._user(isinstance(frame, f.VADUserStartedSpeakingFrame))
            case f.UserStartedSpeakingFrame() | f.UserStoppedSpeakingFrame():
                if not self._has_vad:
                    self._user(isinstance(frame, f.UserStartedSpeakingFrame))
            case f.TranscriptionFrame():
                self._record("user_input_transcribed", hashed_transcript(frame.text, self._key))
            case f.LLMContextFrame() if (  # a processor may send a copy to the model
                self._context is None or isinstance(data.source, AGGREGATORS)
            ):
                self._context = frame.context
                self._read_context()
            case f.LLMFullResponseStartFrame():
                self._created("generate_reply")
                request = {"of": "llm", "speech": self._speech, "duration": 0.0}
                self._record("metrics_collected", request)
                self._awaited, self._worded = True, False
            case f.LLMTextFrame():
                self._worded = True
            case f.LLMFullResponseEndFrame() if not self._worded:
                self._awaited = False  # it has only made calls
            case f.BotStartedSpeakingFrame():
                self._playback_started()
            case f.BotStoppedSpeakingFrame():
                self._playback_finished()
            case f.InterruptionFrame() if data.direction is FrameDirection.DOWNSTREAM:
                self._cut = self._plays
                self._record("interruption", {"unheard": True} if self._awaited else {})
                self._awaited = False
            case f.FunctionCallInProgressFrame():
                given = hashed_arguments(frame.arguments, self._key)
                started = {"update": "started", "name": frame.function_name, "arguments": given}
                self._tool(frame.tool_call_id, started)
            case f.FunctionCallResultFrame() if (
                frame.properties is None or frame.properties.is_final
            ):
                ended = {"update": "ended", "status": _status(frame), "result": _to_be_said(frame)}
                self._tool(frame.tool_call_id, ended)
            case f.FunctionCallCancelFrame():
                self._tool(frame.tool_call_id, {"update": "ended", "status": "cancelled"})
            case f.ErrorFrame():
                failed = failure_of(frame, self._speech)
                fields = {} if failed is None else failed.fields()
                fields.pop("message", None)  # it may repeat what was said
                self._record("error", fields)
            case f.EndFrame() | f.CancelFrame() if not self._closed:
                self._closed = True
                if isinstance(frame, f.CancelFrame):
                    self._cancel_calls()
                self._record("close", {"reason": type(frame).__name__})

    def _record(self, name: str, fields: Mapping[str, Any]) -> None:
        self._take(round(time.time() - self._began, 6), name, fields)

    def _user(self, speaks: bool) -> None:
        if speaks != self._speaks:
            self._speaks = speaks
            states = ("listening", "speaking")
            change = {"old": states[not speaks], "new": states[speaks]}
            self._record("user_state_changed", change)

    # -- requests and playout

    def _created(self, source: str) -> None:
        self._done(interrupted=True)
        self._speeches += 1
        self._speech = f"speech_{self._speeches}"
        self._record("speech_created", {"speech": self._speech, "source": source})

    def _done(self, interrupted: bool) -> None:
        if self._speech is not None:
            self._record("speech_done", {"speech": self._speech, "interrupted": interrupted})
            self._speech = None

    def _playback_started(self) -> None:
        if self._plays:
            return  # such a frame goes up and down the pipeline
        if self._speech is None:
            self._created("say")
        self._plays, self._cut, self._awaited = True, False, False
        self._record("playback_started", {})

    def _playback_finished(self) -> None:
        if self._plays:
            self._plays = False
            self._record("playback_finished", {"interrupted": self._cut})
            self._done(self._cut)

    def _tool(self, call: str, fields: Mapping[str, Any]) -> None:
        """Record a call's start or end once: such frames go up and down the pipeline."""
        if (call, fields["update"]) not in self._recorded:
            self._recorded.add((call, fields["update"]))
            self._record("tool_execution_updated", {**fields, "call": call})

    def _cancel_calls(self) -> None:
        """Record that the running calls are cancelled with the pipeline, as the user has left."""
        for call, _ in sorted(self._recorded):
            self._tool(call, {"update": "ended", "status": "cancelled"})

    # -- the conversation

    def _read_context(self) -> None:
        """Record messages and results that were added since the last frame."""
        if self._context is None:
            return
        messages = [m for m in self._context.get_messages() if isinstance(m, dict)]
        for message in messages[self._seen :]:
            if text := text_of(message):
                fields = {"type": "message", "role": message["role"]}
                words = hashed_words(text, self._key)
                self._record("conversation_item_added", {**fields, "words": words})
        self._seen = len(messages)
        if added := set(_results(messages)) - self._committed:
            self._committed |= added
            self._record("function_tools_executed", {"calls": sorted(added), "reply": True})


class FrameRecorder(FrameEvents):
    """Records the frames of a pipeline for `turnfsm audit`, without changing it.

    It stores no text of the conversation, only a keyed hash of each word and of each argument of a
    tool, so that the audit can see whether words were lost, or a call was made twice. The key is
    not stored.

    Args:
        target: The path of a new file, a folder (``"recordings/"``) for a new file of its own, or
            an open text file.

    Raises:
        JournalError: The file exists or cannot be created.

    Example:
        >>> import io
        >>> from turnfsm.pipecat import FrameRecorder
        >>> recorder = FrameRecorder(io.StringIO())  # PipelineWorker(..., observers=[recorder])
    """

    def __init__(self, target: str | Path | IO[str]) -> None:
        header = {"pipecat": version("pipecat-ai"), "started_at": round(time.time(), 3)}
        lacks = [need.name for need in _LACKS]
        super().__init__(EventFile(target, {**header, "lacks": lacks}).event)


def _status(frame: f.FunctionCallResultFrame) -> str:
    how = "result" if frame.error is None else "error"
    if isinstance(frame.properties, GovernedResult):
        how = frame.properties.how
    return {"result": "done", "cancelled": "cancelled"}.get(how, "error")


def _to_be_said(frame: f.FunctionCallResultFrame) -> bool:
    """Whether the handler has given a result, and wants a reply to it."""
    own = frame.properties.run_llm if frame.properties is not None else None
    wanted = frame.run_llm if own is None else own
    return bool(frame.result) and wanted is not False


def _results(messages: list[Any]) -> Iterator[str]:
    """The calls whose results are among the messages."""
    for message in messages:
        kind, call = call_status(message)
        if kind == "final":
            yield call
        elif not kind and message.get("role") == "tool" and message.get("content") != RUNS:
            yield str(message.get("tool_call_id"))
