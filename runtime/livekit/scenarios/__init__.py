"""Acceptance scenarios: the failures of turn-taking, each playable on any session class."""

from .labels import LABELS
from .scenario import Scenario
from .speculation import SPECULATION
from .waiting import WAITING

__all__ = ["CONTROLS", "SCENARIOS", "Scenario"]

SCENARIOS: tuple[Scenario, ...] = (*SPECULATION, *LABELS, *WAITING)
"""The failures; each has problems on a stock `AgentSession`."""

CONTROLS: tuple[Scenario, ...] = ()
"""Conversations that go right on a stock `AgentSession`."""
