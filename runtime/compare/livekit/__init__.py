"""The failures of turn-taking on livekit-agents: on `AgentSession` and on `TurnSession`."""

from __future__ import annotations

from livekit.agents import __version__

from turnfsm.runtime.compare.scenario import Contender, FailureClass, Host, Scenario
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession

from .agent_state import AGENT_STATE
from .calls import CALLS, CONTROL_CALLS
from .controls import CONTROL_SCENARIOS, CONTROL_TURNS
from .corrections import CORRECTIONS
from .duplex import DUPLEX
from .handoffs import HANDOFFS
from .playout import CONTROL_PLAYOUT, PLAYOUT
from .runs import CONTROL_RUNS, RUNS
from .speculation import SPECULATION
from .tools import CONTROL_TOOLS, TOOLS
from .turns import TURNS
from .waiting import WAITING

__all__ = ["CLASSES", "CONTROLS", "HOST", "SCENARIOS", "scenario"]


CLASSES: tuple[FailureClass, ...] = (
    FailureClass(
        "A",
        "A preemptive reply while a tool runs",
        "A reply is generated before the turn is committed, although a tool call is still running. "
        "The request is wasted, or the user hears two replies.",
        "`preemptive_generation` is refused in every state but `listening`.",
    ),
    FailureClass(
        "B",
        "A pause where nothing was heard",
        "Noise pauses or resumes a step, although no audio of this step was heard.",
        "only `speaking` leads to `paused`; the facts of a step become false when it ends.",
    ),
    FailureClass(
        "C",
        "Tool results lost, repeated or out of place",
        "After an interruption a request to the model lacks the call or its result, or has "
        "something between them. So the model makes the call again.",
        "no request is made while a result is not committed, and each call ends exactly once.",
    ),
    FailureClass(
        "D",
        "An interruption while a tool runs",
        "The agent does not answer until the tool ends, or never says its result, or the tool has "
        "its side effect although the user has stopped it.",
        "when a turn is committed, the running calls are released at once. Their results are said "
        "later. If a tool waits for playout, an interruption ends this wait.",
    ),
    FailureClass(
        "E",
        "Waiting for something that does not come",
        "The agent is silent forever because it waits for something that never comes; or a run "
        "fails or ends early because it does not wait.",
        "every state that waits has its own timer, and `turnfsm check` proves it.",
    ),
    FailureClass(
        "F",
        "A turn of the user is lost",
        "What the user said gets no reply and is not in the history, or it is answered much later.",
        "a committed turn is replied, deferred, superseded, or dropped with a reason. No commit is "
        "cancelled.",
    ),
    FailureClass(
        "G",
        "The history is not what was heard",
        "The history has words that nobody heard, or lacks words that somebody heard.",
        "when a step ends, the words that were heard are added to the history.",
    ),
    FailureClass(
        "H",
        "The agent state is wrong",
        "The agent state does not agree with what the user hears.",
        "the agent state follows the state of the flow; only playout leads to `speaking`.",
    ),
)
"""In the order of their letters."""


SCENARIOS: tuple[Scenario, ...] = (
    *SPECULATION,
    *TOOLS,
    *AGENT_STATE,
    *HANDOFFS,
    *WAITING,
    *TURNS,
    *CALLS,
    *DUPLEX,
    *CORRECTIONS,
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
