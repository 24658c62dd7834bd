"""The functions of the application: their marks, their options, and those that come with the tools
of a context."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import update_wrapper
from types import SimpleNamespace
from typing import Any

from pipecat.processors.aggregators.llm_context import LLMContext, is_given
from pipecat.services.llm_service import FunctionCallParams, LLMService

from turnfsm.fsm import Flow, HostError
from turnfsm.fsm.expect import Schema
from turnfsm.runtime.conversation.policies import check_arguments, check_names, on_interruption

from .calls import Handler, PipecatCalls
from .schemas import DirectFunctionWrapper, FunctionSchema, ToolsSchema, tool_options

__all__ = ["Functions", "marks_of", "parameters_of"]

logger = logging.getLogger("turnfsm")

ESCAPES = (
    "%s is registered with the LLM service, so no policy of the flow holds for its calls; register "
    "it with governor.register_function(llm, %r, ...), or give it only to LLMContext(tools=...)"
)

OPTIONS = ("cancel_on_interruption", "timeout_secs", "cancellable_by_llm")


class Functions:
    """The functions that the model may call. Each runs as a call that the flow governs.

    Args:
        calls: The tool calls of the conversation.
    """

    def __init__(self, calls: PipecatCalls) -> None:
        self._calls = calls
        self._advertised: dict[str, tuple[object, Handler]] = {}
        self._models: list[LLMService[Any]] = []

    def governed(
        self,
        name: str | None,
        handler: Handler,
        own: object,
        *,
        cancel_on_interruption: bool | None = None,
        timeout_secs: float | None = None,
    ) -> Handler:
        """Return the handler to give to Pipecat.

        Args:
            name: The function's name; None for the catch-all handler.
            own: The function of the application, which may have marks and `tool_options`. Arguments
                take precedence over its marks, and marks over its options.
        """
        marks, options = marks_of(own, cancel_on_interruption), _options(own)
        limit = timeout_secs or options.get("timeout_secs") or 0.0
        wrapped = self._calls.governed(name, handler, marks, limit)
        vars(wrapped).update(_attributes(own))
        # Pipecat must not cancel it; the model may if the application says so
        by_model = bool(options.get("cancellable_by_llm"))
        marked: Handler = tool_options(cancel_on_interruption=False, cancellable_by_llm=by_model)(
            wrapped
        )
        return marked

    def check_model(self, llm: LLMService[Any]) -> None:
        """Check what is registered with an LLM service so far; `begin` does it again.

        Raises:
            HostError: A function that needs the user's yes would not wait for it.
        """
        self._models.append(llm)
        self._check_confirmed()

    def _check_confirmed(self) -> None:
        for name in self._flow.tools.confirm:
            if self._escapes(name):
                raise HostError(
                    f"flow {self._flow.name!r} asks the user before {name} runs, which was "
                    "registered with the LLM service and does not wait for a yes; register it with "
                    f"governor.register_function(llm, {name!r}, ...)"
                )

    def begin(self, context: LLMContext) -> None:
        """The pipeline starts with this context: check its functions, and the flow's rules for
        them.

        Raises:
            FlowError: The flow misspells a function that needs a yes, or names a parameter that a
                function does not have.
            HostError: As `check_model`.
        """
        self._check_confirmed()
        schemas = _schemas(context)
        for schema in schemas:
            check_arguments(self._flow, schema.name, schema.properties)
            if self._escapes(schema.name):
                logger.warning(ESCAPES, schema.name, schema.name)
        self.advertised(context)
        names = {schema.name for schema in schemas} | self._calls.tools.keys()
        check_names(self._flow, {name for name in names if name is not None})

    @property
    def _flow(self) -> Flow:
        return self._calls.host.conductor.turn.flow

    def _escapes(self, name: str) -> bool:
        """Pipecat runs what was registered with the LLM service itself."""
        wrapped = self._calls.tools.keys() & {name, None}
        return not wrapped and self.registered(name)

    def registered(self, name: str) -> bool:
        """Whether an LLM service has a handler for it. A model may call what does not exist."""
        return any(llm.has_function(name) for llm in self._models)

    def advertised(self, context: LLMContext) -> None:
        """Govern the functions that Pipecat registers by itself: those with a handler in their
        `FunctionSchema`, such as those of Pipecat Flows, and direct functions."""
        tools = context.tools
        if not is_given(tools):
            return
        direct = {wrapper.name: wrapper for wrapper in tools.direct_functions}
        schemas = [self._schema(schema, direct.get(schema.name)) for schema in tools.standard_tools]
        if schemas != tools.standard_tools:
            context.set_tools(ToolsSchema(schemas, tools.custom_tools))

    def _schema(
        self, schema: FunctionSchema, direct: DirectFunctionWrapper | None
    ) -> FunctionSchema:
        own = schema.handler if direct is None else direct.function
        advertised, governed = self._advertised.get(schema.name, (None, None))
        if own is None or own is governed:
            return schema
        if own is not advertised or governed is None:
            handler = schema.handler if direct is None else _handler(direct)
            governed = self.governed(schema.name, handler, own)
            self._advertised[schema.name] = own, governed
        parameters = schema.properties, schema.required
        return FunctionSchema(schema.name, schema.description, *parameters, handler=governed)


def parameters_of(context: LLMContext, tool: str) -> Mapping[str, Schema] | None:
    """The JSON schemas of a function's parameters, by name; None if there is no such function."""
    schemas: dict[str, Mapping[str, Schema]] = {s.name: s.properties for s in _schemas(context)}
    return schemas.get(tool)


def _schemas(context: LLMContext) -> Sequence[FunctionSchema]:
    return context.tools.standard_tools if is_given(context.tools) else ()


def _handler(direct: DirectFunctionWrapper) -> Handler:
    async def handler(params: FunctionCallParams) -> None:
        await direct.invoke(params.arguments, params)

    return handler


def marks_of(own: object, cancel_on_interruption: bool | None) -> object:
    """What the code says about a function, for `policy_of`: its marks, and an argument of
    `register_function`."""
    marks = SimpleNamespace()
    if _options(own).get("cancel_on_interruption") is False:
        on_interruption("detach")(marks)
    vars(marks).update(_attributes(own))
    if cancel_on_interruption is not None:
        on_interruption("cancel" if cancel_on_interruption else "detach")(marks)
    return marks


def _attributes(function: object) -> dict[str, Any]:
    """The attributes that decorators have set."""
    copy: Any = update_wrapper(SimpleNamespace(), function, assigned=())  # type: ignore[arg-type]
    return {name: value for name, value in vars(copy).items() if name != "__wrapped__"}


def _options(function: object) -> dict[str, Any]:
    """The options that `tool_options` has set, by name."""
    attributes = _attributes(function)
    return {
        name: attributes[key]
        for key in vars(tool_options(SimpleNamespace()))
        for name in OPTIONS
        if key in attributes and key.endswith(name)
    }
