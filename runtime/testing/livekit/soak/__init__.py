"""Random conversations with a user's own agent, on `AgentSession` and on `TurnSession`."""

from .conversation import Conversation, draw_conversation
from .pair import SoakPair, play_both

__all__ = ["Conversation", "SoakPair", "draw_conversation", "play_both"]
