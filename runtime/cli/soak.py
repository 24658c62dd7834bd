"""`turnfsm soak`: random conversations with the user's own agent."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnfsm.runtime.cli._streams import quiet_logs

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.soak import SoakPair

__all__ = ["soak"]


def soak(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="The agent: module:Class or file.py:Class, or a function that makes it.",
        ),
    ],
    flow: Annotated[
        str,
        typer.Option(
            metavar="FLOW", help="The flow of TurnSession: a shipped one or a .yaml file."
        ),
    ] = "turn",
    userdata: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A class or function that makes the user data: module:Name."
        ),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many conversations.")] = 100,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Play for so many minutes instead.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first conversation; the next one has seed + 1.")
    ] = 1,
    show: Annotated[
        bool,
        typer.Option(
            "--show", help="Print the script and both timelines of the first conversation."
        ),
    ] = False,
) -> None:
    """Play random conversations with your agent, on AgentSession and on TurnSession.

    User, model, TTS and audio output are scripted, in virtual time; the model calls the agent's
    tools. Exit status 0: no findings, 1: TurnSession was worse, or the agent raised an error on
    both, 2: bad input.
    """
    from turnfsm.fsm import load_flow
    from turnfsm.runtime.testing.livekit.named import load_named
    from turnfsm.runtime.testing.livekit.soak import draw_conversation, play_both

    sys.path.insert(0, str(Path.cwd()))
    make = _maker(load_named(agent, Path.cwd(), "agent"), agent)
    data = load_named(userdata, Path.cwd(), "userdata") if userdata else None
    governs = load_flow(flow)
    found = played = turns = calls = 0
    raised: dict[str, list[int]] = {}  # each error with the seeds of its conversations
    for number in _seeds(seed, 1 if show else count, None if show else minutes):
        with quiet_logs():
            pair = play_both(draw_conversation(number), make, governs, data)
        played, turns = played + 1, turns + len(pair.conversation.sentences)
        calls += pair.ours.runs.total()
        worse = pair.worse()
        found += bool(worse)
        if show:
            print(_shown(pair))
        for line in worse:
            print(f"seed {number}: {line}")
        if worse and not show:
            print(_how_to_see(agent, number))
        for error in pair.raised:
            raised.setdefault(error, []).append(number)
    for error, seeds in raised.items():
        print(f"the agent raises on both sessions, in {len(seeds)} of {played}: {error}")
        print(_how_to_see(agent, seeds[0]))
    found += len(raised)
    print(f"{agent}: {played} conversations, {turns} turns, {calls} tool calls, {found} findings")
    raise typer.Exit(bool(found))


def _how_to_see(agent: str, seed: int) -> str:
    return f"  = help: turnfsm soak {agent} --seed {seed} --show"


def _maker(named: Any, name: str) -> Callable[[], Any]:
    from turnfsm.fsm import TurnfsmError

    if not callable(named):
        raise TurnfsmError(
            f"agent {name!r} is {type(named).__name__}, and every conversation needs a new agent; "
            "name its class, or a function that makes one"
        )
    made: Callable[[], Any] = named
    return made


def _seeds(first: int, count: int, minutes: float | None) -> Iterator[int]:
    end = None if minutes is None else time.monotonic() + 60 * minutes
    number = first
    while number < first + count if end is None else time.monotonic() < end:
        yield number
        number += 1


def _shown(pair: SoakPair) -> str:
    return "\n".join(
        [
            pair.conversation.text(),
            "\nAgentSession:",
            pair.stock.failed or pair.stock.outcome.timeline(),
            "\nTurnSession:",
            pair.ours.failed or pair.ours.outcome.timeline(),
            "",
        ]
    )
