"""The names and parameters of the tools that a session and its agents have."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from livekit.agents import Agent, llm
from livekit.agents.llm.async_toolset import AsyncToolset
from livekit.agents.llm.utils import build_legacy_openai_schema

from turnfsm.fsm import HostError
from turnfsm.fsm.flow import Flow
from turnfsm.runtime.conversation.policies import check_arguments, check_names

__all__ = ["check_arguments_of", "check_names_of_tools", "parameters_of"]

logger = logging.getLogger("turnfsm")


def check_names_of_tools(flow: Flow, given: Iterable[Any]) -> None:
    """Log a warning for each tool that the flow names but no agent has.

    A session may hand over to agents that do not exist yet. So the tools of all agent classes in
    this process are known.

    Args:
        flow: The flow.
        given: The tools of the session and of its first agent.

    Raises:
        FlowError: The user is asked about a tool whose name is probably misspelt.
    """
    if not flow.named_tools:
        return  # skip the search through all agent classes
    known = {*llm.ToolContext(list(given)).function_tools, *_declared()}
    check_names(flow, known)


def check_arguments_of(flow: Flow, given: Iterable[Any]) -> None:
    """Check the arguments of tools that the flow names.

    Args:
        flow: The flow.
        given: The tools of the session and of its first agent.

    Raises:
        FlowError: It names a parameter that its tool does not have.
        HostError: A tool cannot wait for a yes.
    """
    _warn_of_approvals(flow, given)
    if flow.tools.confirm or flow.tools.corrects:
        for toolset in llm.ToolContext(list(given)).toolsets:
            _check_executor(flow, toolset)
        for name, tool in llm.ToolContext(list(given)).function_tools.items():
            if (parameters := parameters_of(tool)) is not None:
                check_arguments(flow, name, parameters)


def _warn_of_approvals(flow: Flow, given: Iterable[Any]) -> None:
    """In livekit-agents 2.0 a tool may have `requires_approval`."""
    for name, tool in llm.ToolContext(list(given)).function_tools.items():
        if getattr(tool.info, "requires_approval", False) and name not in flow.tools.confirm:
            logger.warning(
                "%s has requires_approval, and the flow does not ask about it: LiveKit asks, the "
                "model judges the answer, and nothing is proved; "
                'write tools: {confirm: {%s: {say: "..."}}}',
                name,
                name,
            )


def _check_executor(flow: Flow, toolset: llm.Toolset) -> None:
    if isinstance(toolset, AsyncToolset):
        for name in flow.tools.confirm:
            if name in llm.ToolContext([toolset]).function_tools:
                raise HostError(
                    f"flow {flow.name!r} asks the user before {name} runs, which is in an "
                    "AsyncToolset and cannot wait for a yes; move it to the tools of the agent"
                )


def parameters_of(tool: Any) -> Mapping[str, Any] | None:
    """The JSON schemas of a tool's parameters, by name; None if it is not a function tool.

    Args:
        tool: A tool, or None.
    """
    if isinstance(tool, llm.RawFunctionTool):
        schema: Mapping[str, Any] = tool.info.raw_schema
    elif isinstance(tool, llm.FunctionTool):
        schema = build_legacy_openai_schema(tool)["function"]
    else:
        return None
    parameters: Mapping[str, Any] = schema.get("parameters", {}).get("properties", {})
    return parameters


def _declared() -> Iterator[str]:
    classes, seen = [Agent], {Agent}
    while classes:
        new = set(classes.pop().__subclasses__()) - seen
        seen |= new
        classes += new
    for agent in seen:
        yield from llm.ToolContext(llm.find_function_tools(agent)).function_tools
