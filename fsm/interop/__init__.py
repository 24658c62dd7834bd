"""Flows for other tools, and machines of `transitions` as flows."""
