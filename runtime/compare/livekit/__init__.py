"""The failures of turn-taking on livekit-agents: on `AgentSession` and on `TurnSession`.

`scenarios.yaml` says what the scenarios are, and the modules beside it play and judge them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from livekit.agents import __version__

from turnfsm.runtime.compare.scenario import Build, Contender, Conversations, Verdict
from turnfsm.runtime.compare.scenario_file import read_host
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession

from .calls import CALLS
from .checks import check_of, problems_of
from .controls import CONTROLS
from .conversation import conversation_of
from .corrections import CORRECTIONS
from .duplex import DUPLEX
from .handoffs import HANDOFFS
from .runs import RUNS
from .tools import TOOLS
from .verdicts import VERDICTS
from .waiting import WAITING

__all__ = ["HOST"]

OWN: Conversations = {
    id: conversation
    for part in (CALLS, CONTROLS, CORRECTIONS, DUPLEX, HANDOFFS, RUNS, TOOLS, WAITING)
    for id, conversation in part.items()
}
"""Those whose agents or tools are code."""


def _conversation(id: str, entry: dict[str, Any]) -> tuple[Build, Verdict]:
    if id in OWN:
        return OWN[id]
    checks = [check_of(written) for written in entry.pop("expect", ())]
    return conversation_of(entry), VERDICTS.get(id) or partial(problems_of, checks)


HOST = read_host(
    Path(__file__).with_name("scenarios.yaml"),
    version=__version__,
    stock=Contender("AgentSession", AgentSession),
    ours=Contender("TurnSession", TurnSession),
    conversation=_conversation,
)
