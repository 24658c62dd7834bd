"""Decides about a conversation: the floor, tool calls, user turns, the agent state."""
