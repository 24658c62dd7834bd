"""The conversations of the conformance suite."""

from __future__ import annotations

from collections.abc import Mapping

from turnfsm.fsm import Flow, load_flow, parse_flow
from turnfsm.fsm.flow import Policy

from .conformance import OTHERWISE, Talk, Tool
from .script import Answer, Call, Sound, Step

__all__ = ["TALKS"]

COUNT = "One two three four five six seven eight nine ten. " * 3
WELCOME = "You are welcome here dear caller."
FRIDAY = "It arrives on Friday."
MORNING = "Your parcel arrives on Friday, as I see here in my list. It comes by mail."
EUROS = "It cost twenty euros."
PREAMBLE = "Let me look that up for you."
LONG_PREAMBLE = f"{PREAMBLE} This takes a few seconds."
WAIT, THERE = "One moment please.", "Are you still there?"
ANSWERS: Mapping[str, Answer | Exception] = {
    "please count": Answer(COUNT),
    "hello there": Answer(WELCOME),
    "think about it": Answer(COUNT, after=3.0),
    "look it up": Answer(calls=(Call("look_up"),)),
    "find my parcel": Answer(PREAMBLE, calls=(Call("look_up"),)),
    "fetch it": Answer(LONG_PREAMBLE, calls=(Call("look_up"),)),
    "parcel and price": Answer(calls=(Call("look_up"), Call("price"))),
    "fail": RuntimeError("the provider is down"),
}
RESULTS = {"it is on its way": FRIDAY, "in the mail": MORNING, "twenty euros": EUROS}
LOOK_UP = {"look_up": Tool(6.0)}
BOTH = {"look_up": Tool(6.0), "price": Tool(8.0, "twenty euros")}
SAYS = "thinking speaking thinking listening"
COUNTS, WELCOMES, LOOKS_UP = "please count", "hello there", "look it up"
QUIET, _ = parse_flow(
    """
flow: quiet
extends: turn
fillers: {after: 1.5, say: One moment please.}
silence: [{after: 4, say: Are you still there?}]
"""
)


def _said(words: str, at: float, lasts: float = 1.0) -> Sound:
    return Sound(at, says=words, lasts=lasts)


def _noise(at: float, lasts: float = 1.0) -> Sound:
    return Sound(at, noise=lasts)


def _held(policy: Policy) -> Mapping[str, Tool]:
    return {"look_up": Tool(6.0, policy=policy)}


def _talk(
    *user: Sound,
    states: str = "",
    heard: tuple[str, ...] = (),
    cut: tuple[str, ...] = (),
    effects: str = "",
    tools: Mapping[str, Tool] = LOOK_UP,
    do: tuple[Step, ...] = (),
    flow: Flow | None = None,
    timers: Mapping[str, float] | None = None,
    goes_on: bool = False,
) -> Talk:
    return Talk(
        user,
        tuple(states.split()),
        flow if flow is not None else load_flow("turn"),
        heard=heard,
        cut=cut,
        effects=tuple(effects.split()),
        do=do,
        answers=ANSWERS,
        results=RESULTS,
        tools=tools,
        timers=timers or {},
        goes_on=goes_on,
    )


TALKS: Mapping[str, Talk] = {
    "an answer": _talk(
        _said(COUNTS, 0),
        states=SAYS,
        heard=(COUNT,),
    ),
    "two answers": _talk(
        _said(WELCOMES, 0),
        _said(COUNTS, 8),
        states=f"{SAYS} {SAYS}",
        heard=(WELCOME, COUNT),
    ),
    "a noise that nobody answers": _talk(
        _noise(0),
    ),
    "the user goes on before they are answered": _talk(
        _said("please", 0, 0.5),
        _said("count", 1.05, 0.5),
        states=SAYS,
        heard=(COUNT,),
        goes_on=True,
    ),
    "a noise over the answer": _talk(
        _said(COUNTS, 0),
        _noise(4),
        states="thinking speaking paused speaking thinking listening",
        heard=(COUNT,),
    ),
    "a long noise over the answer": _talk(
        _said(COUNTS, 0),
        _noise(4, 6),
        states="thinking speaking paused speaking thinking listening",
        heard=(COUNT,),
    ),
    "two noises over the answer": _talk(
        _said(COUNTS, 0),
        _noise(4),
        _noise(8.5),
        states="thinking speaking paused speaking paused speaking thinking listening",
        heard=(COUNT,),
    ),
    "a backchannel over the answer": _talk(
        _said(COUNTS, 0),
        _said("mhm", 4, 0.4),
        states=f"thinking speaking paused interrupted listening {SAYS}",
        heard=(OTHERWISE,),
        cut=(COUNT,),
    ),
    "words over the answer": _talk(
        _said(COUNTS, 0),
        _said(WELCOMES, 4),
        states=f"thinking speaking paused interrupted listening {SAYS}",
        heard=(WELCOME,),
        cut=(COUNT,),
    ),
    "words over an answer that nobody may interrupt": _talk(
        _said(COUNTS, 0),
        _said(WELCOMES, 4),
        states=f"{SAYS} {SAYS}",
        heard=(COUNT, WELCOME),
        flow=load_flow("uninterruptible"),
    ),
    "a noise while the model thinks": _talk(
        _said("think about it", 0),
        _noise(2.5),
        states=SAYS,
        heard=(COUNT,),
    ),
    "words while the model thinks": _talk(
        _said("think about it", 0),
        _said(WELCOMES, 2.5),
        states=f"thinking interrupted listening {SAYS}",
        heard=(WELCOME,),
        cut=(COUNT,),
    ),
    "a tool": _talk(
        _said(LOOKS_UP, 0),
        states=f"thinking tool_running {SAYS}",
        heard=(FRIDAY,),
        effects="look_up",
    ),
    "two tools": _talk(
        _said("parcel and price", 0),
        states=f"thinking tool_running {SAYS}",
        heard=(EUROS,),
        effects="look_up price",
        tools=BOTH,
    ),
    "a tool with a preamble": _talk(
        _said("find my parcel", 0),
        states=f"thinking speaking thinking tool_running {SAYS}",
        heard=(PREAMBLE, FRIDAY),
        effects="look_up",
    ),
    "a tool that ends before its preamble": _talk(
        _said("find my parcel", 0),
        states=f"thinking speaking {SAYS}",
        heard=(PREAMBLE, FRIDAY),
        effects="look_up",
        tools={"look_up": Tool(0.1)},
    ),
    "a noise over a tool": _talk(
        _said(LOOKS_UP, 0),
        _noise(4),
        states=f"thinking tool_running {SAYS}",
        heard=(FRIDAY,),
        effects="look_up",
    ),
    "words over a tool": _talk(
        _said(LOOKS_UP, 0),
        _said(WELCOMES, 3.5),
        states=f"thinking tool_running listening {SAYS} {SAYS}",
        heard=(WELCOME, FRIDAY),
        effects="look_up",
    ),
    "words over a tool that is cancelled": _talk(
        _said(LOOKS_UP, 0),
        _said(WELCOMES, 3.5),
        states=f"thinking tool_running listening {SAYS}",
        heard=(WELCOME,),
        cut=(FRIDAY,),
        tools=_held("cancel"),
    ),
    "words over a tool that is held": _talk(
        _said(LOOKS_UP, 0),
        _said(WELCOMES, 3.5),
        states=f"thinking tool_running {SAYS}",
        heard=(WELCOME,),
        effects="look_up",
        tools=_held("hold"),
    ),
    "words over a tool that finishes": _talk(
        _said(LOOKS_UP, 0),
        _said(WELCOMES, 3.5),
        states=f"thinking tool_running {SAYS}",
        heard=(WELCOME,),
        effects="look_up",
        tools=_held("finish"),
    ),
    "two turns over a tool that is held": _talk(
        _said(LOOKS_UP, 0),
        _said(WELCOMES, 3),
        _said(COUNTS, 5),
        states=f"thinking tool_running {SAYS}",
        heard=(COUNT,),
        effects="look_up",
        tools=_held("hold"),
    ),
    "words over the preamble of a tool": _talk(
        _said("fetch it", 0),
        _said(WELCOMES, 2.2),
        states=f"thinking speaking paused interrupted listening {SAYS} {SAYS}",
        heard=(WELCOME, FRIDAY),
        cut=(LONG_PREAMBLE,),
        effects="look_up",
    ),
    "words over the answer with the result": _talk(
        _said(LOOKS_UP, 0),
        _said(WELCOMES, 8.6),
        states=f"thinking tool_running thinking speaking paused interrupted listening {SAYS}",
        heard=(WELCOME,),
        cut=(MORNING,),
        effects="look_up",
        tools={"look_up": Tool(6.0, "in the mail")},
    ),
    "two results that come while the agent speaks": _talk(
        _said("parcel and price", 0),
        _said(COUNTS, 2.5),
        states=f"thinking tool_running listening {SAYS} {SAYS}",
        heard=(COUNT, EUROS),
        effects="look_up price",
        tools=BOTH,
    ),
    "a tool that takes too long": _talk(
        _said(LOOKS_UP, 0),
        states=f"thinking tool_running listening {SAYS} {SAYS}",
        heard=(FRIDAY,),
        effects="look_up",
        timers={"tool_limit": 3.0},
    ),
    "a filler for a tool, and a user who says nothing": _talk(
        _said(LOOKS_UP, 0),
        states=f"thinking tool_running thinking speaking thinking tool_running {SAYS} {SAYS}",
        heard=(WAIT, FRIDAY, THERE),
        effects="look_up",
        flow=QUIET,
    ),
    "a model that fails": _talk(
        _said("fail", 0),
        _said(WELCOMES, 8),
        states=f"thinking listening {SAYS}",
        heard=(WELCOME,),
    ),
    "the application interrupts": _talk(
        _said(COUNTS, 0),
        states="thinking speaking interrupted listening",
        cut=(COUNT,),
        do=(Step(5, interrupt=True),),
    ),
    "the application speaks": _talk(
        _said(WELCOMES, 4),
        states=f"{SAYS} {SAYS}",
        heard=(WELCOME, WELCOME),
        do=(Step(0.5, say=WELCOME),),
    ),
    "the application speaks over a tool": _talk(
        _said(LOOKS_UP, 0),
        states=f"thinking tool_running thinking speaking thinking tool_running {SAYS}",
        heard=(WELCOME, FRIDAY),
        effects="look_up",
        do=(Step(4, say=WELCOME),),
    ),
}
"""By name."""
