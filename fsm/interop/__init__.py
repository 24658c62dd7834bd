"""Flows for other tools, and machines of `transitions` as flows."""

from .machine_in import from_transitions
from .machine_out import FlowModel, to_transitions, transitions_config
from .promela import to_promela
from .xstate import to_xstate, xstate_module

__all__ = [
    "FlowModel",
    "from_transitions",
    "to_promela",
    "to_transitions",
    "to_xstate",
    "transitions_config",
    "xstate_module",
]
