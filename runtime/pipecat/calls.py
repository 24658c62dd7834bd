"""Tool calls: wraps each handler, so that the flow knows of its calls and their results."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import attrs
from pipecat.frames import frames as f
from pipecat.services.llm_service import FunctionCallParams
from pipecat.utils.errors import ErrorCategory

from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.conversation.tool_call import End
from turnfsm.runtime.host.calls import CallHost, Calls, OpenCall
from turnfsm.runtime.host.reply import Reply

from .requests import content_of

__all__ = ["GovernedResult", "Handler", "PipecatCalls"]

logger = logging.getLogger("turnfsm")

Handler = Callable[[FunctionCallParams], Awaitable[None]]

UNKNOWN = (
    "the handler that runs for the call of %s is not governed: register it with "
    "governor.register_function(llm, %r, ...), and with nothing else%s"
)
REPLACED = "; what was registered so was replaced by a later llm.register_function"

RETURNED = (
    "the handler of %s (%s) has returned without calling result_callback; until something calls "
    "it, the call counts as running"
)

FAILED = "The function `{name}` failed and returned no result."
"""Pipecat's own text."""

TIMED_OUT = "CANCELLED"

_running: ContextVar[str | None] = ContextVar("turnfsm_call", default=None)


@dataclass
class GovernedResult(f.FunctionCallResultProperties):
    """The properties of a result, or of the text that replaces one. The frame's own `error` is for
    handlers that raise, and a governed one never does.

    Attributes:
        how: How the call has ended, as in `LedgerCall.gave`.
    """

    how: str = "result"


@attrs.define
class _Given:
    """The `of` of a call.

    Attributes:
        give: Gives a result to Pipecat.
        params: The handler's parameters; None if the handler is not wrapped.
        properties: The properties of the result.
    """

    give: Callable[..., Awaitable[None]]
    params: FunctionCallParams | None = None
    properties: f.FunctionCallResultProperties | None = None


class PipecatCalls(Calls):
    """The tool calls of a conversation.

    Pipecat may call a handler that is not wrapped. Then the frames of the call say when it begins
    and ends, and its result is on the agenda like that of any other call.

    Attributes:
        tools: The functions that may be marked with a policy, by name; None is the key of the
            catch-all.
    """

    unknown = (
        "register its function with governor.register_function(...), and call this while it runs"
    )

    def __init__(
        self,
        host: CallHost,
        requested: Callable[[], Reply | None],
        registered: Callable[[str], bool],
    ) -> None:
        super().__init__(host)
        self._requested, self._registered = requested, registered
        self._made: set[str] = set()
        self.tools: dict[str | None, object] = {}

    def made(self, id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """The model has made this call."""
        if (reply := self._requested()) is None or id in self._made:
            return  # its handler may start before the call is announced
        self._made.add(id)
        self.host.conductor.speech.response_over(reply)
        self.add(id, name, json.dumps(dict(arguments)), reply)

    def running(self, params: FunctionCallParams | None) -> str:
        """The id of a function's call, by default of the one that runs here.

        Raises:
            TurnfsmError: There is none.
        """
        id = _running.get() if params is None else params.tool_call_id
        if id is None:
            raise TurnfsmError(
                "no call runs here; use this in a function that the model calls, or pass the "
                "FunctionCallParams that it was called with"
            )
        return id

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
            call = self.open.get(params.tool_call_id)
            if call is None:  # not a call of a governed step
                await handler(params)
                return
            call.tool, call.of = tool, _Given(params.result_callback, params)
            if await self.begin(call):
                from_model, give = call.reply.text is None, partial(self._settle, call)
                # the application's own context, not a copy
                context = call.reply.of if from_model else params.context
                own = replace(params, result_callback=give, context=context)

                async def work() -> None:
                    _running.set(call.id)
                    await handler(own)

                await self.run(call, work, limit)
                if not call.ended:
                    logger.warning(RETURNED, call.name, call.id)

        return run

    def given_up(self, call: OpenCall) -> None:
        """Pipecat has cancelled the handler: `cancel_passes` follows, and says why."""

    # -- calls whose handler is not wrapped, and calls that Pipecat cancels

    def runs(self, frame: f.FunctionCallInProgressFrame) -> None:
        """Pipecat runs the handler of a call."""
        call = self.open.get(frame.tool_call_id)
        wrapped = self.tools.keys() & {frame.function_name, None}
        if call is not None and call.of is None and (frame.cancel_on_interruption or not wrapped):
            self._begun(call)

    async def result_passes(self, frame: f.FunctionCallResultFrame) -> None:
        """A result is on its way into the context. The flow requests the reply that delivers it,
        which Pipecat would forget if the user makes a noise then."""
        call = self.open.get(frame.tool_call_id)
        if call is None or (call.of is not None and call.of.params is not None):
            return
        if call.of is None:
            self._begun(call)
        await self._deliver(call, frame, "result")

    async def cancel_passes(self, frame: f.FunctionCallCancelFrame) -> f.Frame:
        """Pipecat has cancelled a call: with the speech that has made it, after its timeout, or
        because the model or the application wants it.

        Returns:
            The frame to pass on: after a timeout a result, since Pipecat would not inform the model
            if the user makes a noise then.
        """
        call = self.open.get(frame.tool_call_id)
        if call is None or call.of is None:
            return frame
        if not frame.run_llm:
            super().given_up(call)
            return frame
        result = f.FunctionCallResultFrame(
            call.name, call.id, json.loads(call.arguments), TIMED_OUT, run_llm=True
        )
        await self._deliver(call, result, "cancelled")
        return result

    def _begun(self, call: OpenCall) -> None:
        replaced = REPLACED if self.tools.keys() & {call.name, None} else ""
        if self._registered(call.name):  # otherwise Pipecat warns that there is no such function
            logger.warning(UNKNOWN, call.name, call.name, replaced)

        async def give(result: Any, *, properties: f.FunctionCallResultProperties) -> None:
            """A cancelled call has no result to give."""

        call.of = _Given(give)
        conductor = self.host.conductor
        conductor.tools.started(
            call.id, call.name, call.arguments, call.reply, self.host, call.tool
        )
        conductor.requests.call_started(call.id)

    async def _deliver(self, call: OpenCall, frame: f.FunctionCallResultFrame, how: End) -> None:
        async def give(result: Any, *, properties: f.FunctionCallResultProperties) -> None:
            frame.properties = properties

        call.of.give, given = give, frame.properties or f.FunctionCallResultProperties()
        if given.run_llm is None:
            given = replace(given, run_llm=frame.run_llm)
        await self._settle(call, frame.result, how, properties=given)

    # -- results

    async def failed(self, call: OpenCall, error: Exception) -> None:
        """Report the failure to the model, and its cause to the pipeline."""
        failed = FAILED.format(name=call.name)
        await self.settle(call, "error", failed)
        await call.of.params.llm.push_error(
            f"{failed} {error}", exception=error, category=ErrorCategory.APPLICATION
        )

    async def give(self, call: OpenCall) -> None:
        """Give the result to Pipecat, which requests no reply for it, and reports when the result
        is in the context."""
        given: f.FunctionCallResultProperties | None = call.of.properties
        own = given.on_context_updated if given is not None else None

        async def updated() -> None:
            self.result_added(call)
            if own is not None:
                await own()

        entry = self.host.conductor.tools.get(call.id)
        how = entry.entry.gave if entry is not None else None
        properties = GovernedResult(run_llm=False, on_context_updated=updated, how=how or "result")
        await call.of.give(call.result, properties=properties)

    async def _settle(
        self,
        call: OpenCall,
        result: Any,
        how: End = "result",
        *,
        properties: f.FunctionCallResultProperties | None = None,
    ) -> None:
        """The tool has called its `result_callback`."""
        if properties is not None and not properties.is_final:
            properties = replace(properties, run_llm=False)
            await call.of.give(result, properties=properties)
            return
        if not call.ended:
            call.of.properties = properties
        deliver = properties is None or properties.run_llm is not False
        late = self.host.conductor.tools.was_answered(call.id)
        output = content_of(result) if late else None
        await self.settle(call, how, result, deliver=deliver, output=output)
