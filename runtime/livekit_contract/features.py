"""The features of turnfsm on LiveKit, each with its guarantee."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

__all__ = ["FEATURES", "Feature"]


class Feature(NamedTuple):
    """A feature of `TurnSession`.

    Attributes:
        what: Its guarantee.
        essential: No session runs without it, even if `strict=False`.
    """

    what: str
    essential: bool = False


FEATURES = MappingProxyType(
    {
        "turns": Feature("the flow decides about turns", essential=True),
        "barge_in": Feature("the flow decides whether user speech pauses or interrupts the agent"),
        "speculation": Feature("the flow decides whether a preemptive reply is generated"),
        "words": Feature(
            "a manual commit gets its whole transcript, and no word comes twice", essential=True
        ),
        "silences": Feature("the agent may start to speak while the user pauses"),
        "requests": Feature(
            "a request to the model waits for the flow, and contains all results", essential=True
        ),
        "overlap": Feature("LiveKit's detector of interruptions reports to the flow"),
        "fillers": Feature("a filler may be said before a reply whose model is slow"),
        "calls": Feature(
            "a late result is delivered once; a repeated call runs once", essential=True
        ),
        "handoffs": Feature(
            "transcripts and results move to the next agent; no handoff hangs", essential=True
        ),
        "runs": Feature("`run()` begins and ends when no handoff is in progress", essential=True),
        "closing": Feature("a toolset that does not close does not block the session's close"),
        "realtime": Feature("a realtime model's context has each result once, and what was played"),
        "turn_detection": Feature("LiveKit's turn detection knows when audio is paused"),
        "dictation": Feature("a turn ends at once when the expected value is complete"),
        "pace": Feature("the end of a turn follows the pace of the flow"),
        "push_to_talk": Feature("the flow knows when the microphone is turned on and off"),
        "agent_state": Feature("`agent_state` is `speaking` only while audio is heard"),
        "limits": Feature("a step that does not end is given up after its limit"),
        "component_errors": Feature("a VAD that fails is reported"),
    }
)
"""The features by their names in the table."""
