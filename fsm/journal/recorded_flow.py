"""Finds the flow of a journal by the name in its header."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.load.loader import load_flow, shipped_flows

from .records import JournalError

__all__ = ["recorded_flow"]


def recorded_flow(name: str, flows: Sequence[Flow], journal: str | Path) -> Flow:
    """The flow that a journal names: one of those given, or a shipped one.

    Args:
        name: The name in the journal's header.
        flows: The flows that the user has given.
        journal: The journal's file, for the message.

    Raises:
        JournalError: It is neither.
    """
    for flow in flows:
        if flow.name == name:
            return flow
    if name in shipped_flows():
        return load_flow(name)
    given = " or ".join(repr(flow.name) for flow in flows)
    instead = f"and the given one is {given}" if flows else "which is no shipped one"
    raise JournalError(
        f"{journal}: of the flow {name!r}, {instead}; name its file: --flow FILE.yaml"
    )
