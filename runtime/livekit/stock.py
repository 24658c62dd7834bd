"""LiveKit's own session. livekit-agents 2.0 has renamed it to `LiveSession`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livekit import agents

if TYPE_CHECKING:
    from livekit.agents import AgentSession
else:
    AgentSession = getattr(agents, "LiveSession", None) or agents.AgentSession

__all__ = ["AgentSession"]
