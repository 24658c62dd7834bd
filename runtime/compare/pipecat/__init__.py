"""The failures of turn-taking on Pipecat: alone, and with a `TurnGovernor`."""

from __future__ import annotations

from importlib.metadata import version

from turnfsm.runtime.compare.scenario import Contender, FailureClass, Host, Scenario
from turnfsm.runtime.pipecat.governor import TurnGovernor

from .controls import CONTROLS
from .noise import NOISE
from .tools import TOOLS
from .turns import TURNS, WAITING

__all__ = ["HOST"]


CLASSES: tuple[FailureClass, ...] = (
    FailureClass(
        "N",
        "Noise ends what the agent does",
        "A cough, a door, a voice in the room: the VAD hears it, the STT recognises nothing. The "
        "answer is gone, or the tool is cancelled.",
        "a voice pauses the answer or keeps it back; only words end it.",
    ),
    FailureClass(
        "T",
        "A tool is cancelled, or has its effect twice",
        "An interruption cancels the call, perhaps after its effect. The model makes it again.",
        "a call goes on, unless its policy says otherwise; each call ends exactly once.",
    ),
    FailureClass(
        "C",
        "Tool results lost, repeated or out of place",
        "A request to the model lacks the call, its result, or what was said before it; or the "
        "user is never told the result.",
        "no request is made while something that it must show is missing. A result that nobody "
        "has heard is open on the agenda.",
    ),
    FailureClass(
        "D",
        "Two answers, or an answer over the user",
        "Two replies are generated for one turn, or a reply begins while the user speaks.",
        "one reply at a time has the floor; its first audio waits while the user speaks.",
    ),
    FailureClass(
        "E",
        "Waiting for something that does not come",
        "The agent is silent for ever, because a tool, a model or an output does not go on.",
        "every state that waits has its own timer, and `turnfsm check` proves it.",
    ),
    FailureClass(
        "F",
        "A turn of the user is lost, or answered late",
        "What the user said is in no request, or it is answered much later.",
        "a committed turn is replied, deferred, superseded, or dropped with a reason.",
    ),
)
"""In the order of the page."""


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
