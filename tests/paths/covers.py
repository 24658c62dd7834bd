"""The paths of the shipped flows, looked for once."""

from __future__ import annotations

from functools import cache

from turnfsm.fsm import load_flow, shipped_flows
from turnfsm.fsm.cover import Cover, cover

__all__ = ["FLOWS", "covered"]

FLOWS = {name: load_flow(name) for name in shipped_flows()}


@cache
def covered(name: str) -> Cover:
    """The paths of a shipped flow."""
    return cover(FLOWS[name])
