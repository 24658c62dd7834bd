"""Random conversations that are played on `AgentSession` and on `TurnSession`; see docs/soak.md."""
