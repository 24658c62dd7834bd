"""What is checked before a session starts: livekit-agents, the tools, the turn detection."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from livekit.agents import Agent, llm
from livekit.agents.llm.async_toolset import AsyncToolset
from livekit.agents.llm.utils import build_legacy_openai_schema
from livekit.agents.utils import is_given, misc

from turnfsm.fsm import Flow, HostError, TurnfsmError
from turnfsm.runtime.conversation.policies import (
    check_arguments,
    check_names,
    check_names_of_agents,
)
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.livekit_contract import check, installed

from .overrides import LEFT_OUT

__all__ = [
    "check_arguments_of",
    "check_ids_of_agents",
    "check_names_of_tools",
    "parameters_of",
    "require_livekit",
    "require_turn_detection",
    "warn_of_turn_detection",
]

logger = logging.getLogger("turnfsm")

_REMEDIES = {
    "manual": "give turn_handling={'turn_detection': 'manual'}, and call commit_user_turn()",
    "realtime_llm": "give llm=..., a realtime model that detects turns",
}


def require_livekit(*, strict: bool) -> None:
    """Refuse an unsupported livekit-agents, or log which guarantees are missing with it.

    Raises:
        UnsupportedLiveKit: It is not supported, and `strict` is set.
    """
    if strict:
        _supported()
    for feature, guarantee in LEFT_OUT.items():
        logger.warning(
            "livekit-agents %s lacks private names that turnfsm needs; without %s there is no "
            "promise that %s",
            *(installed(), feature, guarantee),
        )


@cache
def _supported() -> None:
    """Success is cached for the process; an error is raised each time."""
    check()


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


def check_ids_of_agents(flow: Flow, first: Agent) -> None:
    """Log a warning for each agent with an overlay whose id is probably misspelt.

    The ids of all agent classes in this process are known, unless an agent is given its own.

    Args:
        flow: The flow.
        first: The session's first agent.
    """
    if flow.overlays:
        ids = {misc.camel_to_snake_case(agent.__name__) for agent in _classes()}
        check_names_of_agents(flow, {first.id, *ids})


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
    for agent in _classes():
        yield from llm.ToolContext(llm.find_function_tools(agent)).function_tools


def _classes() -> set[type[Agent]]:
    """All classes of agents in this process."""
    classes, seen = [Agent], {Agent}
    while classes:
        new = set(classes.pop().__subclasses__()) - seen
        seen |= new
        classes += new
    return seen


def require_turn_detection(flow: Flow, session: AgentSession[Any], agent: Agent) -> None:
    """Refuse an agent whose turns the flow cannot govern.

    Args:
        flow: The flow of the session.
        session: The session.
        agent: Its first agent. An agent's settings override the session's.

    Raises:
        TurnfsmError: The flow needs a different turn detection, or the agent has a realtime model
            that cannot be governed with this livekit-agents.
    """
    if unmet := _unmet(flow, session, agent):
        raise TurnfsmError(unmet)


def warn_of_turn_detection(flow: Flow, session: AgentSession[Any], agent: Agent) -> None:
    """The same for a later agent, but only log the problem: the call continues."""
    if unmet := _unmet(flow, session, agent):
        logger.warning("%s", unmet)


def _unmet(flow: Flow, session: AgentSession[Any], agent: Agent) -> str:
    model = agent.llm if is_given(agent.llm) else session.llm
    if "realtime" in LEFT_OUT and isinstance(model, llm.RealtimeModel):
        return (
            f"this livekit-agents lacks names that turnfsm needs for the realtime model of "
            f"{agent.label!r}; use an STT, an LLM and a TTS, or a release that fits: "
            "pip install 'turnfsm[livekit]'"
        )
    needed = flow.turn_detection
    if needed is None or needed == _detection_of(session, agent):
        return ""
    return (
        f"the flow {flow.name!r} needs turn_detection={needed!r}, which the session does not have "
        f"with the agent {agent.label!r}; {_REMEDIES[needed]}"
    )


def _detection_of(session: AgentSession[Any], agent: Agent) -> object:
    mode = agent.turn_detection if is_given(agent.turn_detection) else session.turn_detection
    model = agent.llm if is_given(agent.llm) else session.llm
    if not isinstance(model, llm.RealtimeModel) or not model.capabilities.turn_detection:
        return mode if mode != "realtime_llm" else None
    # Only some of these models can turn their turn detection off.
    other_mode = isinstance(mode, str) and mode != "realtime_llm"
    can_disable = model.capabilities.can_disable_turn_detection
    return mode if other_mode and can_disable else "realtime_llm"
