"""The tool calls of a session, reported to the machine: started, updated, ended, committed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from livekit.agents import llm
from livekit.agents.voice.events import ToolCallEnded, ToolExecutionUpdatedEvent
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm import Verdict
from turnfsm.runtime.ledger import End, LedgerCall
from turnfsm.runtime.livekit.lifecycle import SessionLifecycle

from .call_ids import CallIds
from .host import TurnHost
from .policies import is_repeatable
from .told_results import ToldResults
from .tool_calls import Call, ToolCalls

if TYPE_CHECKING:
    from turnfsm.runtime.livekit.session import TurnSession

__all__ = ["ToolReports"]


class ToolReports:
    """The sensors for tool calls; `Conductor` has the others."""

    session: TurnSession[Any]
    tools: ToolCalls
    ids: CallIds
    host: TurnHost
    life: SessionLifecycle
    told: ToldResults

    def post(self, trigger: str, of: str | None = None, /, **data: Any) -> Verdict:
        """Post to the session's runtime."""
        raise NotImplementedError

    def _schedule_deferred(self) -> None:
        raise NotImplementedError

    async def moved_until(self, holds: Callable[[], bool]) -> None:
        """Wait until this holds; looked at after every verdict."""
        raise NotImplementedError

    def own_id(self, item: str, given: str) -> str:
        """The id of a call, by its item; the model's, unless another call has that."""
        activity = self.session.activity
        before = activity.other_calls(item) if activity is not None else ()
        return self.ids.own(item, given, before, self.session.ledger)

    def tool_updated(self, event: ToolExecutionUpdatedEvent) -> None:
        """The life of a call: started, first update, ended."""
        update = event.update
        if update.type == "tool_call_started":
            self._tool_started(update.function_call)
        elif update.type == "tool_call_updated":
            call = self.tools.report(update.call_id)
            self._count_tools()
            if call is not None and self.tools.results_due(call.handle):
                self.post("tool_ended", call=call.id)
        elif update.type == "tool_call_ended":
            self._tool_ended(update)

    def _tool_started(self, function_call: llm.FunctionCall) -> None:
        call = self.tools.start(self.session, function_call, self.session.turn.flow.tools)
        if call is None:
            return
        speech, arguments = call.handle.id, function_call.arguments
        self.session.ledger.start(call.id, call.name, arguments, speech)
        entry = {"call": call.id, "name": call.name, "turn": speech, "policy": call.policy}
        self.session.turn.note("tool_started", arguments=arguments, **entry)
        if not call.handle.interrupted:
            self.tools.hold(call)
        if call.handle.interrupted:
            self.post("speech_interrupted", speech=call.handle.id)
        else:
            self._count_tools()

    def _tool_ended(self, update: ToolCallEnded) -> None:
        call_id, message = update.call_id, update.message
        call = self.tools.end(call_id)
        how: End = {"done": "result", "error": "error"}.get(update.status, "cancelled")  # type: ignore[assignment]
        self.session.ledger.end(call_id, how, message, result_id=update.id)
        name = call.name if call is not None else call_id
        entry: dict[str, Any] = {"call": call_id, "name": name, "how": how, "output": message}
        if call_id in self.session.ledger and self.session.ledger[call_id].handoff:
            entry |= {"handoff": True}
        late = update.id != call_id
        if late:
            entry |= {"id": update.id}
        self.session.turn.note("tool_ended", **entry)
        if late:  # LiveKit puts a result that comes late into the conversation before it says so
            self.told.committed([call_id])
        if call is not None:
            self.tools.let_go(call)
            if how != "cancelled" or call_id in self.tools.cancelled:
                self._result_due(call)
                self.host.answer_calls_delaying_commit(call.handle)
        self._count_tools()
        self._schedule_deferred()

    def known_result(self, call: llm.FunctionCall, speech: str) -> LedgerCall | None:
        """The result of an identical call of the same turn; a tool may opt out."""
        activity = self.session.activity
        tool = activity.tool(call.name) if activity is not None else None
        if is_repeatable(call.name, tool, self.session.turn.flow.tools):
            return None
        shown = activity.shown_results if activity is not None else ()
        ledger = self.session.ledger
        known = ledger.answer(call.call_id, call.name, call.arguments, speech, shown)
        if known is not None:
            self.session.turn.note("tool_answered", call=call.call_id, name=call.name, by=known.id)
        return known

    def call_gave(self, call_id: str, value: object, *, handoff: bool) -> None:
        """The value itself, as an identical call will be answered with it."""
        self.session.ledger.keep(call_id, value, handoff=handoff)

    def request_made(self, handle: SpeechHandle, shown: Collection[str]) -> None:
        """The model is asked, and is shown the results of these calls."""
        self.told.request_made(handle.id, shown)

    def reply_said(self, handle: SpeechHandle) -> None:
        """What the model answered was heard to its end."""
        self.told.said(handle.id)

    async def wait_for_calls(self, calls: Collection[str]) -> None:
        """As long as a handoff waits for these calls, which may end meanwhile."""
        running = self.tools.running
        await self.moved_until(
            lambda: not any(running[call].blocking for call in calls if call in running)
        )
        await asyncio.sleep(self.life.runtime.flow.timers["drain_limit"])

    def _count_tools(self) -> None:
        """Tell the machine when the first call blocks the turn, and when the last one ends."""
        blocking = self.tools.blocking(self.session.activity)
        if blocking and not self.session.turn.holds("tools_running"):
            self.post("tool_started")
        elif not blocking and self.session.turn.holds("tools_running"):
            self.post("tools_drained")

    def _result_due(self, call: Call) -> None:
        """LiveKit commits the results of a step together, when its last call has ended."""
        if self.tools.ended(call):
            self.post("tool_ended", call=call.id)

    def ended_calls(self) -> list[llm.ChatItem]:
        """Calls that have ended, with their results, whose step waits for others."""
        return self.tools.ended_calls()

    def call_ended_interrupted(self, call_id: str) -> None:
        self.tools.withdraw(call_id)

    def results_given(self, results: Sequence[llm.FunctionCallOutput]) -> None:
        """Calls have given results, which LiveKit commits when their step has been heard."""
        if (activity := self.session.activity) is not None:
            activity.tell(results)

    def call_let_go(self, call_id: str) -> None:
        self.tools.let_go_of.add(call_id)

    def was_let_go(self, call_id: str) -> bool:
        """The call was answered when its turn was over; what it gives now is owed."""
        return call_id in self.tools.let_go_of

    def late_results(self, call_id: str, outputs: Iterable[llm.FunctionCallOutput]) -> None:
        """What such a call gives stands in the conversation."""
        self.tools.owe(call_id, outputs)
        self._schedule_deferred()

    def results_committed(self, items: Sequence[llm.ChatItem]) -> None:
        self.told.committed(i.call_id for i in items if i.type == "function_call_output")
        if self.tools.committed(items):
            self._schedule_deferred()
        if not self.tools.uncommitted and self.session.turn.holds("result_uncommitted"):
            self.post("results_committed")
