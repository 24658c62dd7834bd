"""The failures of turn-taking on Pipecat: alone, and with a `TurnGovernor`."""

from __future__ import annotations

from importlib.metadata import version

from turnfsm.runtime.compare.host import Contender, Host
from turnfsm.runtime.compare.scenario import Scenario
from turnfsm.runtime.pipecat.governor import TurnGovernor

from .classes import CLASSES
from .controls import CONTROLS
from .noise import NOISE
from .tools import TOOLS
from .turns import TURNS
from .waiting import WAITING

__all__ = ["HOST"]

SCENARIOS: tuple[Scenario, ...] = (*NOISE, *TOOLS, *TURNS, *WAITING)

_INTRO = """\
# What goes wrong on Pipecat, and what does not

`turnfsm compare --host pipecat --format markdown -o docs/pipecat-failures.md` writes this page; do
not edit it by hand.

Each row is one conversation, played twice in virtual time: with Pipecat {version} alone, and with a
`TurnGovernor`. Both have the same scripted user, model, tools, TTS and output; pipeline,
aggregators, strategies and function calls are Pipecat's own. The first column says, in italics,
what the caller gets that is wrong with Pipecat alone. The other columns give the details: times are
seconds from the start of the conversation, and the words in quotes are what the user heard. A
*preamble* is what the agent says before it calls a tool.

`turnfsm compare --host pipecat ID` plays a row again; its script is in
`turnfsm.runtime.compare.pipecat`. [livekit-agents](failures.md) has a page of its own.
"""

HOST = Host(
    framework="pipecat-ai",
    version=version("pipecat-ai"),
    stock=Contender("Pipecat", None),
    ours=Contender("TurnGovernor", TurnGovernor),
    classes=CLASSES,
    scenarios=SCENARIOS,
    controls=CONTROLS,
    intro=_INTRO,
)
