"""`turnfsm livekit`: the names that turnfsm needs and a release of livekit-agents lacks."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext
from typing import Annotated

import typer

from turnfsm.runtime.livekit_contract.elsewhere import interpreter_with, look_with
from turnfsm.runtime.livekit_contract.look import Look

__all__ = ["livekit"]


def livekit(
    release: Annotated[
        str | None,
        typer.Argument(
            metavar="[RELEASE]",
            help="A version, a wheel or an environment. Default: what is installed here.",
            show_default=False,
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- ARGUMENT...]",
            help="Run Python with that release and these arguments instead.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the names that turnfsm needs and a release of livekit-agents lacks.

    turnfsm uses names that are not public. A version or a wheel is installed into a temporary
    environment for that; nothing is changed here. A command gets such an environment, too:
    `turnfsm livekit 1.8.7 -- -m pytest tests/livekit`.

    Exit status 0: nothing is missing, 1: something is, 2: bad input. With a command: its own.
    """
    with nullcontext() if release is None else interpreter_with(release) as interpreter:
        if command and interpreter is not None:
            raise typer.Exit(subprocess.run([interpreter, *command], check=False).returncode)
        look = Look.here() if interpreter is None else look_with(interpreter)
    print(look.as_text(), end="")
    raise typer.Exit(bool(look.lost))
