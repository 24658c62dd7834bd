"""The failures of turn-taking on livekit-agents: on `AgentSession` and on `TurnSession`.

`scenarios.yaml` says what the scenarios are, and the modules beside it play and judge them.
"""

from __future__ import annotations

from pathlib import Path

from livekit.agents import __version__

from turnfsm.runtime.compare.scenario import Contender, Conversations
from turnfsm.runtime.compare.scenario_file import read_host
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession

from .agent_state import AGENT_STATE
from .calls import CALLS
from .controls import CONTROLS
from .corrections import CORRECTIONS
from .duplex import DUPLEX
from .handoffs import HANDOFFS
from .playout import PLAYOUT
from .runs import RUNS
from .speculation import SPECULATION
from .tools import TOOLS
from .turns import TURNS
from .waiting import WAITING

__all__ = ["HOST"]

CONVERSATIONS: Conversations = {
    id: conversation
    for part in (
        *(SPECULATION, TOOLS, AGENT_STATE, HANDOFFS, WAITING, TURNS),
        *(CALLS, DUPLEX, CORRECTIONS, PLAYOUT, RUNS, CONTROLS),
    )
    for id, conversation in part.items()
}

HOST = read_host(
    Path(__file__).with_name("scenarios.yaml"),
    version=__version__,
    stock=Contender("AgentSession", AgentSession),
    ours=Contender("TurnSession", TurnSession),
    conversation=lambda id, _: CONVERSATIONS[id],
)
