"""A model's call outputs: results as they arrive, or "still running"."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

from livekit.agents import llm
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.tool_calls import Result

from .conversation import ChatContextSync
from .governed_model import GovernedModel
from .history import conversation_of
from .output import OutputActivity
from .tools import (
    cancel_call,
    cancelled_pair,
    report_result,
    running_call,
    say_still_running,
)

__all__ = ["AnsweringActivity", "let_tools_end", "names"]

logger = logging.getLogger("turnfsm")

WAKE_CYCLES = 20
"""Event loop iterations for a waiting tool to end with its own output."""


class AnsweringActivity(OutputActivity):
    """An activity that gives the model's calls their outputs."""

    _conductor: Conductor
    _sending: asyncio.Task[None] | None = None
    _answerer: asyncio.Task[None] | None = None

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
        copy, output = cancelled_pair(original, text)
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
            context = running_call(self.session, call)
            if context is not None and self._conductor.tools.may_answer(call):
                await say_still_running(context)

    @property
    def model_keeps_context(self) -> bool:
        """A realtime model stores the conversation itself."""
        return self.__dict__.get("_rt_session") is not None

    @property
    def model_replies(self) -> bool:
        """The realtime model replies to tool results without being asked."""
        model = self.__dict__.get("_rt_session")  # not if its agent was closed
        return model is not None and bool(model.capabilities.auto_tool_reply_generation)


def names(results: Sequence[llm.FunctionCallOutput]) -> str:
    """The names and ids of these calls."""
    return ", ".join(f"{result.name} ({result.call_id})" for result in results)


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
