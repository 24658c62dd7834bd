"""Conversations that both hosts play."""

from collections.abc import Mapping

from both_hosts import Talk, Tool

from turnfsm import load_flow, parse_flow
from turnfsm.runtime.testing.script import Answer, Call, Sound, Step

COUNT = "One two three four five six seven eight nine ten. " * 3
WELCOME = "You are welcome here dear caller."
FRIDAY = "It arrives on Friday."
ANSWERS: Mapping[str, Answer | Exception] = {
    "please count": Answer(COUNT),
    "hello there": Answer(WELCOME),
    "think about it": Answer(COUNT, after=3.0),
    "look it up": Answer(calls=(Call("look_up"),)),
    "find my parcel": Answer("Let me look that up for you.", calls=(Call("look_up"),)),
    "parcel and price": Answer(calls=(Call("look_up"), Call("price"))),
    "fail": RuntimeError("the provider is down"),
}
RESULTS = {"it is on its way": FRIDAY, "twenty euros": "It cost twenty euros."}
LOOK_UP = {"look_up": Tool(6.0)}


def said(words: str, at: float, lasts: float = 1.0) -> Sound:
    return Sound(at, says=words, lasts=lasts)


def noise(at: float, lasts: float = 1.0) -> Sound:
    return Sound(at, noise=lasts)


def talk(
    *user: Sound,
    tools: Mapping[str, Tool] = LOOK_UP,
    do: tuple[Step, ...] = (),
    flow: str = "turn",
    **more: object,
) -> Talk:
    made = parse_flow(flow)[0] if "\n" in flow else load_flow(flow)
    return Talk(user, do, ANSWERS, RESULTS, tools, {"flow": made, "proof": "off", **more})


QUIET = """
flow: quiet
extends: turn
fillers: {after: 1.5, say: One moment please.}
silence: [{after: 4, say: Are you still there?}]
"""
COUNTS, WELCOMES, LOOKS_UP = "please count", "hello there", "look it up"
BOTH = {"look_up": Tool(6.0), "price": Tool(8.0, "twenty euros")}


def held(policy: str) -> Mapping[str, Tool]:
    return {"look_up": Tool(6.0, policy=policy)}


TALKS = {
    "an answer": talk(said(COUNTS, 0)),
    "two answers": talk(said(WELCOMES, 0), said(COUNTS, 8)),
    "a noise that nobody answers": talk(noise(0)),
    "the user goes on before they are answered": talk(
        said("please", 0, 0.5), said("count", 1.05, 0.5)
    ),
    "a noise over the answer": talk(said(COUNTS, 0), noise(4)),
    "a long noise over the answer": talk(said(COUNTS, 0), noise(4, 6)),
    "two noises over the answer": talk(said(COUNTS, 0), noise(4), noise(8.5)),
    "a backchannel over the answer": talk(said(COUNTS, 0), said("mhm", 4, 0.4)),
    "words over the answer": talk(said(COUNTS, 0), said(WELCOMES, 4)),
    "words over an answer that nobody may interrupt": talk(
        said(COUNTS, 0), said(WELCOMES, 4), flow="uninterruptible"
    ),
    "a noise while the model thinks": talk(said("think about it", 0), noise(2.5)),
    "words while the model thinks": talk(said("think about it", 0), said(WELCOMES, 2.5)),
    "a tool": talk(said(LOOKS_UP, 0)),
    "two tools": talk(said("parcel and price", 0), tools=BOTH),
    "a tool with a preamble": talk(said("find my parcel", 0)),
    "a tool that ends before its preamble": talk(
        said("find my parcel", 0), tools={"look_up": Tool(0.1)}
    ),
    "a noise over a tool": talk(said(LOOKS_UP, 0), noise(4)),
    "words over a tool": talk(said(LOOKS_UP, 0), said(WELCOMES, 3.5)),
    "words over a tool that is cancelled": talk(
        said(LOOKS_UP, 0), said(WELCOMES, 3.5), tools=held("cancel")
    ),
    "words over a tool that is held": talk(
        said(LOOKS_UP, 0), said(WELCOMES, 3.5), tools=held("hold")
    ),
    "words over a tool that finishes": talk(
        said(LOOKS_UP, 0), said(WELCOMES, 3.5), tools=held("finish")
    ),
    "two turns over a tool that is held": talk(
        said(LOOKS_UP, 0), said(WELCOMES, 3), said(COUNTS, 5), tools=held("hold")
    ),
    "words over the preamble of a tool": talk(said("find my parcel", 0), said(WELCOMES, 2.5)),
    "words over the answer with the result": talk(said(LOOKS_UP, 0), said(WELCOMES, 8.6)),
    "two results that come while the agent speaks": talk(
        said("parcel and price", 0), said(COUNTS, 2.5), tools=BOTH
    ),
    "a tool that takes too long": talk(said(LOOKS_UP, 0), timers={"tool_limit": 3.0}),
    "a filler for a tool, and a user who says nothing": talk(said(LOOKS_UP, 0), flow=QUIET),
    "a model that fails": talk(said("fail", 0), said(WELCOMES, 8)),
    "the application interrupts": talk(said(COUNTS, 0), do=(Step(5, interrupt=True),)),
    "the application speaks": talk(said(WELCOMES, 4), do=(Step(0.5, say=WELCOME),)),
    "the application speaks over a tool": talk(said(LOOKS_UP, 0), do=(Step(4, say=WELCOME),)),
}
