"""What turnfsm promises on LiveKit, by the names that each promise needs."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

__all__ = ["FEATURES", "Feature"]


class Feature(NamedTuple):
    """A part of what `TurnSession` does.

    Attributes:
        what: What it does.
        essential: No session runs without it, even if `strict=False`.
    """

    what: str
    essential: bool = False


FEATURES = MappingProxyType(
    {
        "turns": Feature("the flow decides about turns", essential=True),
        "barge_in": Feature("the flow decides whether a voice pauses or interrupts the agent"),
        "speculation": Feature("the flow decides whether a reply is prepared before its turn ends"),
        "commits": Feature("the flow decides whether a turn that ends is answered now"),
        "words": Feature(
            "a manual commit gets the words of the voice, and each word comes once", essential=True
        ),
        "silences": Feature("the agent may begin in a pause of the user"),
        "requests": Feature(
            "a request to the model waits for the flow, and has all results", essential=True
        ),
        "calls": Feature(
            "a result that comes late is told once; a repeated call runs once", essential=True
        ),
        "tool_waits": Feature("`wait_for_playout` in a tool ends when its turn is interrupted"),
        "hold": Feature("the policies `hold` and `finish` keep a turn from being interrupted"),
        "handoffs": Feature(
            "words and results go over to the next agent; no handoff hangs", essential=True
        ),
        "runs": Feature("`run()` begins and ends when no handoff is in progress", essential=True),
        "closing": Feature("a toolset that does not close holds up no close"),
        "realtime": Feature("a realtime model has each result once, and what was heard"),
        "turn_detection": Feature("LiveKit's turn detection knows when audio is paused"),
        "dictation": Feature("a turn ends at once when what was asked for is said"),
        "pace": Feature("the end of a turn follows the pace of the flow"),
        "push_to_talk": Feature("the flow knows when the microphone is turned on and off"),
        "agent_state": Feature("`agent_state` is `speaking` only while audio is heard"),
        "limits": Feature("a step that does not end is given up after its limit"),
        "component_errors": Feature("a VAD that fails is reported"),
        "telemetry": Feature("the spans of the agent state have the agent's turn as parent"),
    }
)
"""Each feature by the name that the table has for it."""
