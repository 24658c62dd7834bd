"""Reports LiveKit's own events to the conductor."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from livekit.agents import llm
from livekit.agents.voice.events import FunctionToolsExecutedEvent

from turnfsm.runtime.conversation.tool_call import End
from turnfsm.runtime.conversation.tool_calls import Result

from .overrides.components import failure_of
from .overrides.session import GovernedSession
from .overrides.speech import GovernedHandle, current_speech, govern, own_id
from .overrides.tool_context import GovernedContext, refuse_handoff
from .overrides.tools import activity_of, cancel_call, report_result, returned, running_call

__all__ = ["Reports"]

logger = logging.getLogger("turnfsm")

NO_WAIT = "a tool of an AsyncToolset cannot wait for the user's yes"
_HOW: Mapping[str, End] = {"done": "result", "error": "error"}


class Reports:
    """Reports each event before the application gets it."""

    def __init__(self, session: GovernedSession[Any]) -> None:
        self._session, self._conductor = session, session._conductor

    def hear(self, event: str, arg: Any) -> None:
        """LiveKit is about to emit this event."""
        if event == "error":
            if (failure := failure_of(arg.error)) is not None:
                self._conductor.outages.failed(failure)
        elif event == "user_input_transcribed" and arg.transcript:
            self._conductor.outages.post("transcript_received")
        elif event == "tool_execution_updated":
            self._report_call(arg.update)
        elif event == "speech_created" and arg.source == "generate_reply" and arg.user_initiated:
            self._conductor.reply_requested()
        elif event == "function_tools_executed":
            self._conductor.host.results_need_reply = arg.has_tool_reply
            _give_ids(arg, partial(own_id, self._conductor))
            if (speech := current_speech()) is not None:
                self._calls_executed(arg, govern(speech, self._conductor))
        elif event == "conversation_item_added" and arg.item.type == "message":
            text = arg.item.text_content or ""
            self._conductor.turn.note("message", role=arg.item.role, text=text)
            if arg.item.role == "user":
                self._conductor.tools.input_given()
                self._conductor.user.message_added(arg.item.id, text)

    def _calls_executed(self, event: FunctionToolsExecutedEvent, speech: GovernedHandle) -> None:
        tools = self._conductor.tools
        if event.has_agent_handoff:
            for output in event.function_call_outputs:
                call = self._conductor.ledger.find(output.call_id)
                if call is not None and call.handoff and not tools.may_hand_over(call.id, speech):
                    event.cancel_agent_handoff()
                    refuse_handoff(output)
        # LiveKit hands over right after this event; the turn is held until then.
        replied = [o for o in event.function_call_outputs if o.reply_required]
        asyncio.get_running_loop().call_soon(self._calls_reported, event, speech, replied)

    def _calls_reported(
        self,
        event: FunctionToolsExecutedEvent,
        speech: GovernedHandle,
        replied: Iterable[llm.FunctionCallOutput],
    ) -> None:
        """All listeners have received the event, and may have cancelled replies."""
        silent = [output.call_id for output in replied if not output.reply_required]
        self._conductor.tools.executed(speech, silent)
        agent = self._conductor.agent
        if event.has_tool_reply and agent is not None and agent.setup.keeps_context:
            # the model is asked when the floor is free
            self._conductor.speech.reply_started(speech)

    def _report_call(self, update: Any) -> None:
        tools = self._conductor.tools
        if update.type == "tool_call_started":
            call = update.function_call
            context = running_call(self._session, call.call_id, GovernedContext)
            if context is not None and tools.get(call.call_id) is None:
                speech = govern(context.speech_handle, self._conductor)
                agent: Any = activity_of(self._session, call.call_id) or self._conductor.agent
                tool = agent.tool(call.name) if agent is not None else None
                tools.started(call.call_id, call.name, call.arguments, speech, agent, tool)
                self._stop_unless_confirmed(call.call_id)
        elif update.type == "tool_call_updated":
            if update.id != update.call_id or not tools.was_answered(update.call_id):
                tools.reported(update.call_id)  # otherwise it is turnfsm's "still running"
        elif update.type == "tool_call_ended":
            how = _HOW.get(update.status, "cancelled")
            if how == "result" and tools.was_answered(update.call_id):
                self._ended_without_result(update.call_id)
            tools.ended(
                update.call_id,
                how,
                update.message,
                result_id=update.id,
                returned=returned(self._session),
            )
            if self._conductor.keeping is not None:
                self._conductor.keeping.call_ended()

    def _ended_without_result(self, call_id: str) -> None:
        # The tool has returned None after the call was answered; 2.0 adds no output for that.
        entry = self._conductor.ledger[call_id]
        call = llm.FunctionCall(call_id=call_id, name=entry.name, arguments=entry.arguments)
        empty = llm.FunctionCallOutput(call_id=call_id, name=entry.name, output="", is_error=False)
        report_result(self._session, call, empty)
        self._conductor.tools.late_result(Result(call_id, empty=True))

    def _stop_unless_confirmed(self, call_id: str) -> None:
        # LiveKit's own executor runs the tool without waiting. The tool has not started yet.
        tools = self._conductor.tools
        call = tools.get(call_id)
        if call is not None and call.state == "asking":
            logger.error("%s is not run: %s", call.name, NO_WAIT)
            tools.refuse(call, "not_asked", NO_WAIT)
            cancel_call(self._session, call_id)


def _give_ids(event: FunctionToolsExecutedEvent, own_id: Callable[[str, str], str]) -> None:
    """Give an id to a call that LiveKit has refused, and that never began."""
    for call, output in event.zipped():
        call.call_id = output.call_id = own_id(call.id, call.call_id)
