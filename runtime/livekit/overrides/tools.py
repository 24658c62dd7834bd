"""An executor that asks the flow before it runs a tool, and functions about running calls."""

from __future__ import annotations

import asyncio
import functools
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast

from livekit.agents import AgentTask, ToolError, llm
from livekit.agents.utils import aio
from livekit.agents.voice.events import FunctionToolsExecutedEvent, RunContext
from livekit.agents.voice.tool_executor import _RunningTasks, _ToolExecutor

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.tool_call import CANCELLED
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.ledger import LedgerCall
from turnfsm.runtime.livekit.stock import AgentSession

from .speech import GovernedHandle, govern
from .tool_context import TurnContext, hand_over, hands_over, refused, without_agent

__all__ = [
    "STILL_RUNNING",
    "GovernedExecutor",
    "activity_of",
    "cancel_call",
    "report_result",
    "returned",
    "running_call",
]

Context = TypeVar("Context", bound=TurnContext[Any])

_is_transition: Any = getattr(llm.tool_context, "is_transition", lambda _: False)
_approval_scope: Any = getattr(llm.tool_context, "approval_scope", None)

_replacing: ContextVar[str | None] = ContextVar("turnfsm_replacing", default=None)
"""The call that replaces earlier ones: its tool has `on_duplicate="replace"`."""

NOT_RUN_AGAIN = "This is the result of the identical call {call}. The tool did not run again."
ENDED = "The identical call {call} has ended. The tool did not run again."
HANDED_OVER = "The identical call {call} handed the user over. The tool did not run again."
IDENTICAL_RUNNING = "The identical call {call} is still running. The tool did not run again."
STILL_RUNNING = "The call is still running. Its result will follow."


class GovernedExecutor(_ToolExecutor):
    """An executor that runs a call only if no identical call answers it; see `Ledger.answer`."""

    _conductor: Conductor
    activity: Any
    """The activity whose calls it runs."""

    async def execute(self, *, run_ctx: RunContext[Any], raw_arguments: Any, **how: Any) -> Any:
        call, turn = run_ctx.function_call, run_ctx.speech_handle.id
        tools, key = self._conductor.tools, (call.name, call.arguments, turn)
        activity: Any = self._conductor.agent
        tool = activity.tool(call.name) if activity is not None else None
        if tools.waits_for_identical(*key, tool):
            await self._conductor.until(lambda: not tools.waits_for_identical(*key, tool))
        activity = self._conductor.agent
        shown = activity.shown_results if activity is not None else ()
        if (earlier := tools.identical(call.call_id, *key, tool, shown)) is not None:
            return _answer_with(earlier, turn)
        if tools.confirmation(call.name, call.arguments) is not None:
            refused = await self._until_allowed(run_ctx, activity, tool)
            if refused is not None:
                return refused
            how["tool"] = _approved(how["tool"], call)
        if (why := await self._conductor.requests.before_call(call.call_id, *key)) is not None:
            raise ToolError(why)
        replaces = getattr(how["tool"].info, "on_duplicate", None) == "replace"
        token = _replacing.set(call.call_id if replaces else None)
        try:
            value = await super().execute(run_ctx=run_ctx, raw_arguments=raw_arguments, **how)
        finally:
            _replacing.reset(token)
            self._conductor.requests.call_started(call.call_id)
        running = self._running_tasks.get(call.call_id)
        if hands_over(value):
            self._conductor.ledger.returned_agent(call.call_id)
        if type(value).__name__ == "InputRequired":
            tools.input_required(call.call_id, value.question)
        elif _is_silent(without_agent(value), activity and activity.agent):
            tools.wants_no_reply(call.call_id)
        if running is not None and running.exe_task.done():
            keeping = self._conductor.keeping is not None
            if keeping or running.exe_task.cancelled():
                await asyncio.wait({running.exe_task})  # LiveKit's callback, which reports the end
            if keeping:
                await self._conductor.requests.after_call()
        return await self._after_objection_known(run_ctx, value) if hands_over(value) else value

    async def cancel(self, call_id: str) -> bool:
        """Cancel a running call. If a newer call replaces it, its result is not delivered."""
        newer, task = _replacing.get(), self._running_tasks.get(call_id)
        if newer is not None and task is not None and task.allow_cancellation:
            self._conductor.tools.replaced(call_id, newer)
        return await super().cancel(call_id)

    async def _until_allowed(self, run_ctx: RunContext[Any], activity: Any, tool: object) -> Any:
        # LiveKit learns of the call when its tool begins; the flow, before the user is asked.
        item, tools = run_ctx.function_call, self._conductor.tools
        speech = govern(run_ctx.speech_handle, self._conductor)
        tools.started(item.call_id, item.name, item.arguments, speech, activity, tool)
        call = tools.get(item.call_id)
        why: str | None = CANCELLED
        try:
            why = await call.allowed() if call is not None else None
        finally:
            if why is not None:
                how: Any = "cancelled" if why == CANCELLED else "error"
                tools.ended(item.call_id, how, why, result_id=item.call_id)
        if why is None:
            return None
        if call is not None and not call.on_agenda:
            return llm.ToolResult(why, reply_required=False)
        raise ToolError(why)

    async def _after_objection_known(self, run_ctx: RunContext[Any], value: Any) -> Any:
        # LiveKit hands over after the preamble. If the user interrupts the preamble, wait until
        # it is known whether they object.
        speech = run_ctx.speech_handle
        call = self._conductor.tools.get(run_ctx.function_call.call_id)
        if call is None or not isinstance(speech, GovernedHandle):
            return value
        call.waits = True
        try:
            await speech.unless_interrupted(RunContext.wait_for_playout(run_ctx))
            await self._conductor.objections.known(call, "hand_over_later")
        finally:
            call.waits = False
        if not speech.interrupted:
            return value
        if hand_over(run_ctx, value):
            return without_agent(value)
        return refused(run_ctx.function_call, value)

    async def _enqueue_reply(self, ctx: Any, items: Any, **how: Any) -> None:
        # LiveKit would request its own reply. The result of a call whose turn is over is on the
        # agenda like any late result, or need not be delivered.
        outputs = [item for item in items if item.type == "function_call_output"]
        call = ctx.function_call
        if (entry := self._conductor.tools.get(call.call_id)) is not None:
            for output in outputs:
                output.output = entry.output_of(output.output, output.is_error)
        if not self._conductor.tools.was_answered(call.call_id):
            await super()._enqueue_reply(ctx, items, **how)
            ctx.session.show_to_next(items)
            return
        results = [report_result(ctx.session, call, output) for output in outputs]
        for output in outputs:
            output.reply_required = False
        await super()._enqueue_reply(ctx, items, **how)
        ctx.session.show_to_next(items)
        for wanted in results:
            self._conductor.tools.late_result(Result(call.call_id, not wanted))

    @property
    def _pending_updates(self) -> Any:
        # LiveKit handles updates when nobody speaks, perhaps after an answer has delivered the
        # result.
        pending: list[Any] = self.__dict__["_pending_updates"]
        pending[:] = [update for update in pending if not self._is_delivered(update)]
        return pending

    @_pending_updates.setter
    def _pending_updates(self, pending: list[Any]) -> None:
        self.__dict__["_pending_updates"] = pending

    def _is_delivered(self, update: Any) -> bool:
        outputs = [item for item in update.items if item.type == "function_call_output"]
        return all(self._conductor.tools.is_delivered(output.call_id) for output in outputs)

    async def drain(self) -> None:
        # A handoff and a close wait for the calls, as in LiveKit. If the session has a limit, a
        # handoff then stops waiting for them, and a close cancels them.
        self._spare_own_call()
        running = self._running_tasks
        if stopped := [task.exe_task for task in running.values() if task.allow_cancellation]:
            await aio.cancel_and_wait(*stopped)
        limit = asyncio.ensure_future(self._conductor.requests.wait_for_calls(running))
        try:
            while running and not limit.done():
                awaited = {limit, *(task.exe_task for task in running.values())}
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            for call, task in tuple(running.items()):
                if self._conductor.tools.outlives_agent(call):
                    del running[call]
                    cast(Any, task.ctx.session).leave_behind(task.exe_task)
                else:
                    task.exe_task.cancel()
            if running:
                await asyncio.wait({task.exe_task for task in running.values()})
        finally:
            limit.cancel()

    def _spare_own_call(self) -> None:
        # A tool that awaits a task of its agent closes the agent itself, if the agent was replaced
        # in the meantime. It must not wait for its own end.
        for call, task in tuple(self._running_tasks.items()):
            if task.exe_task is asyncio.current_task():
                del self._running_tasks[call]


def _approved(tool: Any, call: llm.FunctionCall) -> Any:
    """The same tool without LiveKit's own question: the user has said yes to the flow's. Only in
    livekit-agents 2.0 can a tool have `requires_approval`."""
    if not getattr(tool.info, "requires_approval", False):
        return tool

    @functools.wraps(tool)
    async def run(*args: Any, **named: Any) -> Any:
        with _approval_scope(call, True):
            return await tool(*args, **named)

    return llm.FunctionTool(run, replace(tool.info, requires_approval=False))


def _is_silent(value: Any, agent: object) -> bool:
    """LiveKit requests no reply to what a tool has returned. In livekit-agents 2.0 it acts by
    itself on a transition, such as the end of the agent's task."""
    if isinstance(value, llm.ToolResult):
        return not value.reply_required
    if not _is_transition(value):
        return False
    ends = type(value).__name__ in ("Completed", "Failed", "Rejected")
    return isinstance(agent, AgentTask) or not ends


def _answer_with(earlier: LedgerCall, turn: str) -> Any:
    """The output of a call that was answered with the result of an identical one."""
    if not earlier.over:
        return IDENTICAL_RUNNING.format(call=earlier.id)
    if earlier.output and not earlier.handoff:
        return f"{earlier.output}\n{NOT_RUN_AGAIN.format(call=earlier.id)}"
    text = (HANDED_OVER if earlier.handoff else ENDED).format(call=earlier.id)
    # the next agent speaks; after a restart there is no handoff
    return llm.ToolResult(text, reply_required=earlier.handoff and earlier.turn != turn)


def running_call(session: AgentSession[Any], call_id: str, kind: type[Context]) -> Context | None:
    """The context of a running tool call, from any executor. It becomes one of this class."""
    task = _RunningTasks.get(session, {}).get(call_id)
    if task is None:
        return None
    context: Any = task.ctx
    if not isinstance(context, kind):
        context.__class__ = kind
    return cast(Context, context)


def activity_of(session: AgentSession[Any], call_id: str) -> Any:
    """The activity of a running tool call; None without an agent."""
    executor = _RunningTasks[session][call_id].executor
    return executor.activity if isinstance(executor, GovernedExecutor) else None


def returned(session: AgentSession[Any]) -> dict[str, Literal["agent", "other"]]:
    """The return values of tools whose ends LiveKit is about to report."""
    running = _RunningTasks.get(session, {})
    return {call: _kind(task.exe_task) for call, task in running.items() if task.exe_task.done()}


def _kind(task: asyncio.Task[Any]) -> Literal["agent", "other"]:
    failed = task.cancelled() or task.exception() is not None
    return "other" if failed or not hands_over(task.result()) else "agent"


def report_result(
    session: AgentSession[Any], call: llm.FunctionCall, output: llm.FunctionCallOutput
) -> bool:
    """Report to the application the result of a call that was answered before it had ended.

    LiveKit has emitted ``function_tools_executed`` with the earlier output. It is emitted again,
    with the same call and its result.

    Returns:
        Whether a reply should deliver the result: a listener may have cancelled the reply.
    """
    result = output.model_copy(update={"call_id": call.call_id})
    event = FunctionToolsExecutedEvent(function_calls=[call], function_call_outputs=[result])
    # Not `session.emit`, which would also report executed calls to the flow.
    AgentSession.emit(session, "function_tools_executed", event)
    return bool(result.output) and event.has_tool_reply


def cancel_call(session: AgentSession[Any], call_id: str) -> None:
    """Cancel a running tool."""
    task = _RunningTasks.get(session, {}).get(call_id)
    if task is not None:
        task.exe_task.cancel()
