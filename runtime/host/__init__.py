"""What hosts that run in one process have in common: the agent, its replies, its output."""
