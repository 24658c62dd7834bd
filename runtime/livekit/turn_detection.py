"""Checks that a session's turn detection fits its flow."""

from __future__ import annotations

import logging
from typing import Any

from livekit.agents import Agent, llm
from livekit.agents.utils import is_given

from turnfsm.fsm import Flow, TurnfsmError
from turnfsm.runtime.livekit.stock import AgentSession

from .overrides import LEFT_OUT

__all__ = ["require_turn_detection", "warn_of_turn_detection"]

logger = logging.getLogger("turnfsm")

_REMEDIES = {
    "manual": "give turn_handling={'turn_detection': 'manual'}, and call commit_user_turn()",
    "realtime_llm": "give llm=..., a realtime model that detects turns",
}


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
