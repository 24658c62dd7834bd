"""Acceptance scenarios: the failures of turn-taking, each playable on any session class."""

from .scenario import Scenario
from .speculation import SPECULATION

__all__ = ["CONTROLS", "SCENARIOS", "Scenario"]

SCENARIOS: tuple[Scenario, ...] = (*SPECULATION,)
"""The failures; each has problems on a stock `AgentSession`."""

CONTROLS: tuple[Scenario, ...] = ()
"""Conversations that go right on a stock `AgentSession`."""
