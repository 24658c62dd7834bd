"""`turnfsm demo`: a recorded conversation that a flow governs, with checks."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from turnfsm.runtime.cli._options import HostName

__all__ = ["demo"]


def demo(
    host: Annotated[
        HostName, typer.Option(help="A TurnSession, or a pipeline with a TurnGovernor.")
    ] = "livekit",
    speed: Annotated[
        float,
        typer.Option(
            min=0.25, max=4.0, help="Speed of the spoken conversation; 2 is twice real time."
        ),
    ] = 1.0,
    text: Annotated[
        bool, typer.Option("--text", help="The user types: no sound, no speech models, no waiting.")
    ] = False,
    flow: Annotated[
        str,
        typer.Option(
            metavar="FLOW", help="The flow of the session: a shipped one or a .yaml file."
        ),
    ] = "overlap",
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to.")] = Path(
        "demo-out"
    ),
) -> None:
    """Play a recorded conversation, governed by a flow, and check how it went.

    It writes conversation.html (a page to see and hear the conversation), conversation.wav (user
    left, agent right), journal.jsonl, timeline.svg and transcript.txt. Exit status 0: all checks
    pass, 1: one fails, 2: bad input.
    """
    if text and speed != 1.0:
        raise typer.BadParameter("--text takes no time; leave --speed out")
    settings = {"out": out, "flow": flow, "speed": speed, "text": text}
    raise typer.Exit(_load(text)(**settings, host=host))


def _load(text: bool) -> Callable[..., int]:
    from turnfsm.fsm.errors import TurnfsmError

    try:
        from turnfsm.runtime.demo.main import Settings, demo
    except ModuleNotFoundError as error:
        if text or (error.name or "").partition(".")[0] != "livekit":
            raise
        raise TurnfsmError(  # for the typed conversation the command names the smaller extra
            f"error: {error.name} is not installed, the spoken conversation needs it and models\n"
            "  = help: pip install 'turnfsm[demo]'"
        ) from None
    return lambda **settings: demo(Settings(**settings))
