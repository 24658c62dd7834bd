"""The failures of turn-taking on livekit-agents: on `AgentSession` and on `TurnSession`.

`scenarios.yaml` says what the scenarios are; the modules beside it play and judge them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from livekit.agents import __version__

from turnfsm.runtime.compare.scenario import Build, Contender, Verdict
from turnfsm.runtime.compare.scenario_file import read_host, verdict_of
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession

from .checks import CHECKS
from .conversation import conversation_of

__all__ = ["HOST"]


def _conversation(entry: dict[str, Any]) -> tuple[Build, Verdict]:
    return conversation_of(entry), verdict_of(entry.pop("expect"), CHECKS)


HOST = read_host(
    Path(__file__).with_name("scenarios.yaml"),
    version=__version__,
    stock=Contender("AgentSession", AgentSession),
    ours=Contender("TurnSession", TurnSession),
    conversation=_conversation,
)
