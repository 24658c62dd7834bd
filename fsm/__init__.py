"""Loads, compiles, checks and draws flows. Pure and synchronous."""

from .diagnostics import Finding
from .errors import FlowError, HostError, TurnfsmError, UnknownName, UnknownTrigger
from .flow import (
    Action,
    Always,
    Fact,
    Flow,
    LeadsTo,
    Never,
    Properties,
    Row,
    Scope,
    State,
    Transition,
    Trigger,
)
from .load import load_flow, parse_flow, shipped_flows
from .machine import Machine, Program, Refused, Taken, Verdict, compile_flow

__all__ = [
    "Action",
    "Always",
    "Fact",
    "Finding",
    "Flow",
    "FlowError",
    "HostError",
    "LeadsTo",
    "Machine",
    "Never",
    "Program",
    "Properties",
    "Refused",
    "Row",
    "Scope",
    "State",
    "Taken",
    "Transition",
    "Trigger",
    "TurnfsmError",
    "UnknownName",
    "UnknownTrigger",
    "Verdict",
    "compile_flow",
    "load_flow",
    "parse_flow",
    "shipped_flows",
]
