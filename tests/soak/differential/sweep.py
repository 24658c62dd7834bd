"""Interruptions of every kind at every moment of a tool call, and of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import attrs

from .keys import POLICIES
from .script import SWITCHES, Job, Move, Script, Sound

__all__ = ["INTERRUPTIONS", "TOOLS", "sweep"]

INTERRUPTIONS = ("voice", "noise", "interrupt", "ask", "hand_over", "close")

TOOLS = {
    "plain": Job(1.5, after=0.5),
    "waits": Job(0.5, after=0.5, does="playout"),
    "says": Job(0.5, does="says"),
    "hands off": Job(1.5, ends="hands_off"),
    "raises": Job(1.5, ends="raises"),
    "returns None": Job(1.5, ends="nothing"),
    "filler": Job(3.0, does="filler"),
}

FIRST = 0.85
"""The question has been asked."""

ASKED = Sound(0.5, 0.3, 1, 0.1, calls=(1,))
EVERYTHING = frozenset(SWITCHES)


def sweep(every: float) -> Iterator[Script]:
    """The scripts, with so many seconds from one moment to the next."""
    for step in range(int(6.0 / every) + 1):
        at = round(FIRST + step * every, 3)
        for kind, tool, policy in product(INTERRUPTIONS, TOOLS, POLICIES):
            job = attrs.evolve(TOOLS[tool], policy=policy)
            later = Sound(round(at + 4.0, 3), 0.3, 1, 0.1)
            sounds = (ASKED, *_sounds(kind, at), later)
            moves = () if kind in ("voice", "noise") else (Move(at, kind),)
            name = f"{kind} at {at:g} s, tool {tool}, {policy}"
            yield Script(name, sounds, {1: job}, moves, EVERYTHING)
        for duration, delay, pause in product((0.3, 0.8), (0.1, 0.8, None), (True, False)):
            words = 0 if delay is None else 2
            sound = Sound(at, duration, words, delay or 0.0)
            question = attrs.evolve(ASKED, calls=(), answer=10, ttft=1.0)
            said = "noise" if delay is None else f"words +{delay:g}"
            name = f"{said} at {at:g} s for {duration:g} s, pause={pause!s}"
            yield Script(name, (question, sound), switches=EVERYTHING, can_pause=pause)


def _sounds(kind: str, at: float) -> tuple[Sound, ...]:
    if kind == "voice":
        return (Sound(at, 0.6, 2),)
    return (Sound(at, 0.3),) if kind == "noise" else ()
