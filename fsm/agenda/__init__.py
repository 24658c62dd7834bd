"""The agenda: what the agent has yet to deliver, the replies that claim it, and how claims
settle; and how each turn of the user ends."""
