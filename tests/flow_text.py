"""Flows that are written in tests."""

from functools import cache

from turnfsm.fsm import Flow, parse_flow

__all__ = ["parsed"]


@cache  # a flow is compiled once
def parsed(text: str, file: str = "<flow>") -> Flow:
    """The flow in a text that has no findings."""
    flow, findings = parse_flow(text, file)
    assert flow is not None, findings
    return flow
