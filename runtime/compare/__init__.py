"""Acceptance scenarios: the failures of turn-taking, playable on any session class."""

from .agent_state import AGENT_STATE
from .calls import CALLS, CONTROL_CALLS
from .classes import CLASSES, FailureClass
from .comparison import Compared, Side, compare
from .conservation import CONTROL_TURNS
from .controls import CONTROL_SCENARIOS
from .handoffs import HANDOFFS
from .playout import CONTROL_PLAYOUT, PLAYOUT
from .runs import CONTROL_RUNS, RUNS
from .scenario import Scenario
from .speculation import SPECULATION
from .tables import as_json, as_markdown, as_table, summary
from .tools import CONTROL_TOOLS, TOOLS
from .turns import TURNS
from .waiting import WAITING

__all__ = [
    "CLASSES",
    "CONTROLS",
    "SCENARIOS",
    "Compared",
    "FailureClass",
    "Scenario",
    "Side",
    "as_json",
    "as_markdown",
    "as_table",
    "compare",
    "scenario",
    "summary",
]

SCENARIOS: tuple[Scenario, ...] = (
    *SPECULATION,
    *TOOLS,
    *AGENT_STATE,
    *HANDOFFS,
    *WAITING,
    *TURNS,
    *CALLS,
    *PLAYOUT,
    *RUNS,
)
"""The failures; each has problems on a stock `AgentSession`."""

CONTROLS: tuple[Scenario, ...] = (
    *CONTROL_SCENARIOS,
    *CONTROL_TOOLS,
    *CONTROL_CALLS,
    *CONTROL_PLAYOUT,
    *CONTROL_TURNS,
    *CONTROL_RUNS,
)
"""Conversations that go right on a stock `AgentSession`."""


def scenario(id: str) -> Scenario:
    """The scenario with this id; KeyError names the known ones."""
    known = {s.id: s for s in (*SCENARIOS, *CONTROLS)}
    if id not in known:
        raise KeyError(f"no scenario {id!r}; there are {', '.join(known)}")
    return known[id]
