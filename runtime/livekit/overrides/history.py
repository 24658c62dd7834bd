"""The conversation of an agent. livekit-agents 2.0 has moved it from the agent to its activity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from livekit.agents import Agent, llm
from livekit.agents.voice.agent_activity import AgentActivity

__all__ = ["LIVEKIT_COPIES", "begin_with", "begins_with", "conversation_of", "current_conversation"]

Options = Mapping[str, Any]
"""The options of `AgentSession.start`."""

_AGENTS_HAVE_IT = hasattr(Agent, "update_chat_ctx")

LIVEKIT_COPIES = not _AGENTS_HAVE_IT
"""LiveKit, not the application, gives the next agent the conversation."""


def conversation_of(activity: AgentActivity) -> llm.ChatContext:
    """The conversation that the model of this agent sees."""
    holder: Any = activity.agent if _AGENTS_HAVE_IT else activity
    context: llm.ChatContext = holder._chat_ctx
    return context


def current_conversation(session: Any) -> llm.ChatContext:
    """A copy of the active agent's conversation, on any `AgentSession`. After the close: of
    the last agent's, or with 2.0 the session's history."""
    own = session.current_agent if _AGENTS_HAVE_IT else session._activity
    context: llm.ChatContext = own.chat_ctx if own is not None else session.history
    return context.copy()


def begins_with(agent: Agent, options: Options) -> llm.ChatContext:
    """The conversation that a session starts with."""
    given = agent.chat_ctx if _AGENTS_HAVE_IT else options.get("chat_ctx")
    return given.copy() if given is not None else llm.ChatContext.empty()


async def begin_with(agent: Agent, options: Options, context: llm.ChatContext) -> Options:
    """Let a session start with this conversation. Returns the options to start it with."""
    if not _AGENTS_HAVE_IT:
        return {**options, "chat_ctx": context}
    await agent.update_chat_ctx(context, exclude_invalid_function_calls=False)
    return options
