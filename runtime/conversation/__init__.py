"""The conversation layer: the floor, tool calls, user turns and the agent state."""
