"""Interruptions at every moment of a tool call or of an answer, of every kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import attrs

from turnfsm.fsm.flow import Policy

from .jobs import POLICIES, Job
from .plan import GRID, Answer, Move, Plan, Sound

__all__ = ["INTERRUPTIONS", "TOOLS", "answer_plans", "sweep_plans"]

INTERRUPTIONS = ("voice", "noise", "interrupt", "commit", "ask", "update_agent", "aclose")
"""Of the caller (words, noise) and of the application."""

TOOLS: dict[str, Job] = {
    "plain": Job(1, 1.5, after=0.5),
    "waits": Job(1, 0.5, "playout", after=0.5),
    "says": Job(1, 0.5, "says"),
    "hands off": Job(1, 1.5, ends="hands_off"),
    "raises": Job(1, 1.5, ends="raises"),
    "hangs": Job(1, 1.0, ends="hangs"),
    "returns None": Job(1, 1.5, ends="nothing"),
    "filler": Job(1, 3.0, "filler"),
}

FIRST = 0.85
"""The first question has been asked."""


def sweep_plans(
    *,
    every: float = GRID,
    until: float = 7.0,
    interruptions: Iterable[str] = INTERRUPTIONS,
    tools: Iterable[str] = tuple(TOOLS),
    policies: Sequence[Policy] = POLICIES,
) -> Iterator[Plan]:
    """The caller asks, a tool is called; something interrupts; later the caller asks once more.

    Args:
        every: Seconds from one moment of the interruption to the next.
        until: The last moment.
        interruptions: Some of `INTERRUPTIONS`.
        tools: Some of `TOOLS`.
        policies: What becomes of the call.
    """
    tools, policies, interruptions = tuple(tools), tuple(policies), tuple(interruptions)
    for step in range(int((until - FIRST) / every) + 1):
        at = round(FIRST + step * every, 3)
        for kind in interruptions:
            for tool in tools:
                for policy in policies:
                    yield _plan(at, kind, tool, policy)


def _plan(at: float, kind: str, tool: str, policy: Policy) -> Plan:
    job = attrs.evolve(TOOLS[tool], policy=policy)
    sounds = [Sound(0.5, 1, 0.3, 0.1)]
    moves: tuple[Move, ...] = ()
    if kind == "voice":
        sounds.append(Sound(at, 2, 0.6, 0.3))
    elif kind == "noise":
        sounds.append(Sound(at, 0, 0.3, None))
    else:
        moves = (Move(at, kind),)
    sounds.append(Sound(round(at + 4.0, 3), 1, 0.3, 0.1))
    answers = {n: Answer(2) for n in range(1, len(sounds) + 1)} | {1: Answer(4, (1,))}
    name = f"{kind} at {at:g} s, tool {tool}, {policy}"
    settings = {"turn_detection": "vad"}
    return Plan(name, tuple(sounds), answers, {1: job}, moves, settings=settings, tail=9.0)


DURATIONS = (0.3, 0.8, 1.5)
"""Seconds of a sound of the user."""

DELAYS: tuple[float | None, ...] = (0.1, 0.3, 0.8, 1.5, None)
"""Seconds from its end to its words; None: it is a noise."""


HEARING: dict[str, tuple[int, dict[str, Any]]] = {
    "prepared": (2, {}),
    "not prepared": (2, {"preemptive_generation": {"enabled": False}}),
    "enough words": (2, {"interruption": {"min_words": 2}}),
    "too few words": (1, {"interruption": {"min_words": 2}}),
}
"""How many words the caller says into the answer, and the options of the session."""


def answer_plans(*, every: float = GRID, until: float = 3.9) -> Iterator[Plan]:
    """The caller asks, the model thinks for a second; the caller speaks into that, or coughs.

    So an answer may be out of date before it is heard, and words may come after their sound.

    Args:
        every: Seconds from one moment of the sound to the next.
        until: The last moment; the answer begins at 2.1 s, later if it is not prepared.
    """
    for step in range(int((until - FIRST) / every) + 1):
        at = round(FIRST + step * every, 3)
        for duration, delay, pause, hearing in product(DURATIONS, DELAYS, (True, False), HEARING):
            words, settings = HEARING[hearing]
            said = "noise" if delay is None else f"words +{delay:g}"
            sound = Sound(at, 0 if delay is None else words, duration, delay)
            yield Plan(
                f"{said} at {at:g} s for {duration:g} s, {hearing}, {pause=!s}",
                (Sound(0.5, 1, 0.3, 0.1), sound),
                {1: Answer(10, ttft=1.0), 2: Answer(2)},
                {},
                settings={"turn_detection": "vad", **settings},
                can_pause=pause,
                tail=9.0,
            )
