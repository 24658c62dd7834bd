"""The paths of the shipped flows, looked for once."""

from __future__ import annotations

from turnfsm.fsm import load_flow, shipped_flows
from turnfsm.fsm.cover import cover

__all__ = ["COVERS", "FLOWS"]

FLOWS = {name: load_flow(name) for name in shipped_flows()}
COVERS = {name: cover(flow) for name, flow in FLOWS.items()}
