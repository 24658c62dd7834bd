"""The failures of turn-taking on livekit-agents: on `AgentSession` and on `TurnSession`."""

from __future__ import annotations

from livekit.agents import __version__

from turnfsm.runtime.compare.host import Contender, Host
from turnfsm.runtime.compare.scenario import Scenario
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession

from .agent_state import AGENT_STATE
from .calls import CALLS, CONTROL_CALLS
from .classes import CLASSES
from .conservation import CONTROL_TURNS
from .controls import CONTROL_SCENARIOS
from .duplex import DUPLEX
from .handoffs import HANDOFFS
from .playout import CONTROL_PLAYOUT, PLAYOUT
from .runs import CONTROL_RUNS, RUNS
from .speculation import SPECULATION
from .tools import CONTROL_TOOLS, TOOLS
from .turns import TURNS
from .waiting import WAITING

__all__ = ["CLASSES", "CONTROLS", "HOST", "SCENARIOS", "scenario"]

SCENARIOS: tuple[Scenario, ...] = (
    *SPECULATION,
    *TOOLS,
    *AGENT_STATE,
    *HANDOFFS,
    *WAITING,
    *TURNS,
    *CALLS,
    *DUPLEX,
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

_INTRO = """\
# What goes wrong, and what does not

`turnfsm compare --format markdown -o docs/failures.md` writes this page; do not edit it by hand.

Each row is one conversation, played twice in virtual time: on `AgentSession` (livekit-agents
{version}) and on `TurnSession`. Both have the same scripted user, model, tools, TTS and audio
output. The first column says, in italics, what the caller or the application gets that is wrong on
`AgentSession`. The other columns give the details: times are seconds from the start of the
conversation, and the words in quotes are what the user heard. A *preamble* is what the agent says
before it calls a tool.

A context is judged as the model gets it: for every provider that LiveKit knows, the formatted
request; for a realtime model, its own conversation. `turnfsm compare ID` plays a row again; its
script is in `turnfsm.runtime.compare.livekit`. [Pipecat](pipecat-failures.md) has a page of its
own.
"""

HOST = Host(
    framework="livekit-agents",
    version=__version__,
    stock=Contender("AgentSession", AgentSession),
    ours=Contender("TurnSession", TurnSession),
    classes=CLASSES,
    scenarios=SCENARIOS,
    controls=CONTROLS,
    intro=_INTRO,
)

scenario = HOST.scenario
