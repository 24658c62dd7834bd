"""Tool calls: wraps each handler, so that the flow knows of its calls and their results."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import attrs
from pipecat.frames.frames import FunctionCallResultProperties
from pipecat.services.llm_service import FunctionCallParams
from pipecat.utils.errors import ErrorCategory

from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.ports import Agent
from turnfsm.runtime.conversation.tool_call import CANCELLED
from turnfsm.runtime.conversation.tool_calls import Result

from .errors import SpeechInterrupted
from .reply import Reply
from .requests import FINAL, Came, content_of

__all__ = ["Calls", "Handler"]

logger = logging.getLogger("turnfsm")

Handler = Callable[[FunctionCallParams], Awaitable[None]]
How = Literal["result", "error", "cancelled"]

NOT_RUN_AGAIN = "{result}\nThis is the result of the identical call {call}. It did not run again."
TOO_LONG = "cancelled: the call has run for longer than {seconds:g} s"
FAILED = "The function `{name}` failed and returned no result."
"""Pipecat's own words."""


@attrs.define(eq=False)
class _Call:
    """A call whose result is not in the conversation yet.

    Attributes:
        tool: The function that may be marked with a policy.
        result: The result of the tool; None while it runs.
        says: The result must be delivered to the user.
        late: The model was told that the call is still running; its result comes separately.
    """

    id: str
    reply: Reply
    name: str
    arguments: str
    tool: object = None
    task: asyncio.Future[None] | None = None
    result: str | None = None
    says: bool = False
    late: bool = False


class Calls:
    """The tool calls of a conversation.

    Attributes:
        agent: The agent that makes the calls.
        tools: The functions that may be marked with a policy, by name; None is the key of the
            catch-all.
    """

    agent: Agent

    def __init__(self, conductor: Conductor, go_on: Callable[[Reply], None]) -> None:
        self._conductor, self._go_on = conductor, go_on
        self._open: dict[str, _Call] = {}
        self._made: set[str] = set()
        self.tools: dict[str | None, object] = {}
        self._committed: set[str] = set()

    def made(self, id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """The model has made this call in the step that holds the floor."""
        step = self._conductor.floor.step
        if step is None or not isinstance(step.speech, Reply) or id in self._made:
            return  # its handler may start before the call is announced
        self._made.add(id)
        if self.tools.keys() & {name, None}:
            step.speech.calls.add(id)
            self._open[id] = _Call(id, step.speech, name, json.dumps(dict(arguments)))
        else:
            logger.warning(
                "the flow does not know of the call of %s: register it with "
                "governor.register_function(llm, %r, ...)", name, name,
            )  # fmt: skip

    @property
    def came(self) -> list[Came]:
        """The running calls, and the results that are not in Pipecat's messages yet."""
        return [
            Came(call.id, call.name, call.arguments, call.result, apart=call.late)
            for call in self._open.values()
        ]

    def governed(self, name: str | None, handler: Handler, tool: object, limit: float) -> Handler:
        """The wrapped handler for Pipecat.

        Args:
            name: The tool's name; None for the catch-all handler.
            tool: The function that may be marked with a policy.
            limit: Seconds that a call may take; 0 for any time.
        """
        self.tools[name] = tool

        async def run(params: FunctionCallParams) -> None:
            self.made(params.tool_call_id, params.function_name, params.arguments)
            call = self._open.get(params.tool_call_id)
            if call is None:  # not a call of a governed step
                await handler(params)
                return
            call.tool = tool
            await self._run(call, handler, params, limit)

        return run

    async def commit_point(self, id: str) -> None:
        """The tool of this call is about to carry out its side effect.

        Raises:
            SpeechInterrupted: It must not.
            TurnfsmError: The flow does not know of the call.
        """
        # An interruption that is ready to run comes before the side effect.
        await asyncio.sleep(0)
        if (call := self._conductor.tools.get(id)) is None:
            raise TurnfsmError(
                f"commit_point: the flow does not know of the call {id!r}; register its function "
                "with governor.register_function(...), and call this while it runs"
            )
        keeping = self._conductor.keeping
        if keeping is not None and (why := await keeping.before_effect()) is not None:
            raise SpeechInterrupted(why)
        await self._conductor.objections.known(call, "await_words")
        if (said := call.refusal_of_effect()) is not None:
            raise SpeechInterrupted(said)

    def key(self, id: str) -> str:
        """The key of this call, unique over all conversations of a store."""
        keeping, call = self._conductor.keeping, self._open.get(id)
        return id if keeping is None or call is None else keeping.key_of(id, call.reply.id)

    def cancel(self, id: str) -> None:
        """Cancel a running tool."""
        if (call := self._open.get(id)) is not None and call.task is not None:
            self._conductor.tools.cancelled(id)
            call.task.cancel()

    def answer(self, calls: Sequence[str]) -> None:
        """Continue without these: Pipecat has told the model that they are still running."""
        for id in calls:
            if (call := self._open.get(id)) is not None and self._conductor.tools.may_answer(id):
                call.says = True
                self._no_longer_awaited(call)

    # -- inside

    async def _run(
        self, call: _Call, handler: Handler, params: FunctionCallParams, limit: float
    ) -> None:
        tools, made = self._conductor.tools, (call.name, call.arguments, call.reply.id)
        if tools.waits_for_identical(*made, call.tool):
            await self._conductor.until(lambda: not tools.waits_for_identical(*made, call.tool))
        refused = await self._conductor.before_call(call.id, *made)
        known = tools.identical(call.id, *made, call.tool, self._committed)
        if known is not None:
            refused = NOT_RUN_AGAIN.format(result=known.output or "", call=known.id)
        if refused is not None:
            self._conductor.call_begun(call.id)
            call.says = True
            await params.result_callback(refused, properties=self._properties(call, None))
            return
        tools.started(call.id, *made[:2], call.reply, self.agent, call.tool)
        self._conductor.call_begun(call.id)
        if not await self._allowed(call, params):
            return
        give = partial(self._give, call, params)
        context = call.reply.context or params.context  # the application's own object, not a copy
        running = handler(replace(params, result_callback=give, context=context))
        call.task = task = asyncio.ensure_future(running)
        try:
            done, _ = await asyncio.wait({task}, timeout=limit or None)
            if not done:
                tools.cancelled(call.id)
                task.cancel()
                await asyncio.wait({task})
            await self._over(call, task, params, TOO_LONG.format(seconds=limit) if limit else "")
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            self._given_up(call)
            raise

    async def _allowed(self, call: _Call, params: FunctionCallParams) -> bool:
        """Wait until the handler may run. If it must not, the model reads why."""
        made = self._conductor.tools.get(call.id)
        try:
            why = await made.allowed() if made is not None else None
        except asyncio.CancelledError:
            self._given_up(call)
            raise
        if made is None or why is None:
            return True
        silent = FunctionCallResultProperties(run_llm=False) if made.said_otherwise else None
        await self._settle(call, params, "error", why, silent)
        return False

    async def _over(
        self, call: _Call, task: asyncio.Future[None], params: FunctionCallParams, too_long: str
    ) -> None:
        """The handler has ended. Its result may still come."""
        made = self._conductor.tools.get(call.id)
        if task.cancelled():
            said = made.cancellation if made is not None and made.turn_over else too_long
            await self._settle(call, params, "cancelled", said or CANCELLED)
        elif isinstance(error := task.exception(), SpeechInterrupted):
            await self._settle(call, params, "error", str(error))
        elif isinstance(error, Exception):
            failed = FAILED.format(name=call.name)
            await self._settle(call, params, "error", failed)
            await params.llm.push_error(
                f"{failed} {error}", exception=error, category=ErrorCategory.APPLICATION
            )

    async def _give(
        self,
        call: _Call,
        params: FunctionCallParams,
        result: Any,
        *,
        properties: FunctionCallResultProperties | None = None,
    ) -> None:
        """The tool has called its `result_callback`."""
        if properties is not None and not properties.is_final:
            await params.result_callback(result, properties=replace(properties, run_llm=False))
            return
        await self._settle(call, params, "result", result, properties)

    async def _settle(
        self,
        call: _Call,
        params: FunctionCallParams,
        how: How,
        result: Any,
        properties: FunctionCallResultProperties | None = None,
    ) -> None:
        if call.result is not None:
            return  # the tool has already given a result
        wanted = properties is None or properties.run_llm is not False
        call.result, call.says = content_of(result), bool(result) and wanted
        tools = self._conductor.tools
        call.late = tools.was_answered(call.id)
        if call.late:
            tools.late_result(Result(call.id, not call.says))
            tools.ended(call.id, how, call.result, result_id=call.id + FINAL)
        else:
            tools.ended(call.id, how, str(result), result_id=call.id)
            tools.given([Result(call.id, not call.says)])
            if call.says and not self._runs_for(call.reply):
                self._conductor.reply_began(call.reply)  # it follows when Pipecat has the results
        if self._conductor.keeping is not None:
            self._conductor.keeping.call_ended()
            await self._conductor.after_call()
        await params.result_callback(result, properties=self._properties(call, properties))

    def _properties(
        self, call: _Call, given: FunctionCallResultProperties | None
    ) -> FunctionCallResultProperties:
        """Let Pipecat request no reply for the result, and report when the result is in the
        context."""
        own = given.on_context_updated if given is not None else None

        async def updated() -> None:
            self._in_context(call)
            if own is not None:
                await own()

        return FunctionCallResultProperties(run_llm=False, on_context_updated=updated)

    def _runs_for(self, reply: Reply) -> bool:
        calls = (self._open.get(id) for id in reply.calls)
        return any(call is not None and call.result is None for call in calls)

    def _in_context(self, call: _Call) -> None:
        self._open.pop(call.id, None)
        if not call.late:
            self._conductor.tools.committed([Result(call.id, not call.says)])
        self._committed.add(call.id + FINAL if call.late else call.id)
        self._no_longer_awaited(call)

    def _given_up(self, call: _Call) -> None:
        """Pipecat has cancelled the call, and tells the model itself."""
        self._open.pop(call.id, None)
        if call.result is None and not self._conductor.turn.closed:
            tools = self._conductor.tools
            tools.ended(call.id, "cancelled", CANCELLED, result_id=call.id)
            tools.given([Result(call.id, empty=True)])
            tools.committed([Result(call.id, empty=True)])
            self._no_longer_awaited(call)

    def _no_longer_awaited(self, call: _Call) -> None:
        reply = call.reply
        if call.id in reply.calls:
            reply.calls.discard(call.id)
            reply.goes_on |= call.says
            if not reply.calls:
                self._go_on(reply)
