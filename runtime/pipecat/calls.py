"""Tool calls: wraps each handler, so that the flow knows of its calls and their results."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import attrs
from pipecat.frames.frames import FunctionCallResultProperties
from pipecat.services.llm_service import FunctionCallParams
from pipecat.utils.errors import ErrorCategory

from turnfsm.runtime.host.calls import CallHost, Calls, OpenCall
from turnfsm.runtime.host.reply import Reply

from .requests import content_of

__all__ = ["Handler", "PipecatCalls"]

logger = logging.getLogger("turnfsm")

Handler = Callable[[FunctionCallParams], Awaitable[None]]

FAILED = "The function `{name}` failed and returned no result."
"""Pipecat's own words."""


@attrs.define
class _Given:
    """What a call is made `of`.

    Attributes:
        params: What Pipecat has called the handler with.
        properties: What the handler has given with its result.
    """

    params: FunctionCallParams
    properties: FunctionCallResultProperties | None = None


class PipecatCalls(Calls):
    """The tool calls of a conversation.

    Attributes:
        tools: The functions that may be marked with a policy, by name; None is the key of the
            catch-all.
    """

    unknown = (
        "register its function with governor.register_function(...), and call this while it runs"
    )

    def __init__(self, host: CallHost, asked_for: Callable[[], Reply | None]) -> None:
        super().__init__(host)
        self._asked_for = asked_for
        self._made: set[str] = set()
        self.tools: dict[str | None, object] = {}

    def made(self, id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """The model has made this call."""
        if (reply := self._asked_for()) is None or id in self._made:
            return  # its handler may start before the call is announced
        self._made.add(id)
        self.host.conductor.speech.response_over(reply)
        if self.tools.keys() & {name, None}:
            self.add(id, name, json.dumps(dict(arguments)), reply)
        else:
            logger.warning(
                "the flow does not know of the call of %s: register it with "
                "governor.register_function(llm, %r, ...)", name, name,
            )  # fmt: skip

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
            call.tool, call.of = tool, _Given(params)
            if await self.begin(call):
                asks, give = call.reply.text is None, partial(self._settle, call)
                # the application's own context, not a copy
                context = call.reply.of if asks else params.context
                own = replace(params, result_callback=give, context=context)
                await self.run(call, partial(handler, own), limit)

        return run

    async def failed(self, call: OpenCall, error: Exception) -> None:
        """Tell the model that the tool has failed, and the pipeline why."""
        failed = FAILED.format(name=call.name)
        await self.settle(call, "error", failed)
        await call.of.params.llm.push_error(
            f"{failed} {error}", exception=error, category=ErrorCategory.APPLICATION
        )

    async def give(self, call: OpenCall) -> None:
        """Give the result to Pipecat, which requests no reply for it, and reports when the result
        is in the context."""
        given: FunctionCallResultProperties | None = call.of.properties
        own = given.on_context_updated if given is not None else None

        async def updated() -> None:
            self.result_added(call)
            if own is not None:
                await own()

        properties = FunctionCallResultProperties(run_llm=False, on_context_updated=updated)
        await call.of.params.result_callback(call.result, properties=properties)

    async def _settle(
        self,
        call: OpenCall,
        result: Any,
        *,
        properties: FunctionCallResultProperties | None = None,
    ) -> None:
        """The tool has called its `result_callback`."""
        if properties is not None and not properties.is_final:
            properties = replace(properties, run_llm=False)
            await call.of.params.result_callback(result, properties=properties)
            return
        if not call.ended:
            call.of.properties = properties
        deliver = properties is None or properties.run_llm is not False
        late = self.host.conductor.tools.was_answered(call.id)
        output = content_of(result) if late else None
        await self.settle(call, "result", result, deliver=deliver, output=output)
