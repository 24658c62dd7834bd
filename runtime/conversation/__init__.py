"""What decides about a conversation: the floor, tool calls, user turns, the agent's state."""
