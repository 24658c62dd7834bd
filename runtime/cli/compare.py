"""`turnfsm compare`: the scenarios on a framework, alone and governed by a flow, side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import typer
from rich.console import Console

from turnfsm.fsm.errors import TurnfsmError, near
from turnfsm.runtime.cli._files import write_text
from turnfsm.runtime.cli._options import HostName, Output
from turnfsm.runtime.cli._streams import quiet_logs
from turnfsm.runtime.compare import (
    Compared,
    Host,
    Scenario,
    as_json,
    as_markdown,
    as_table,
    load_host,
    summary,
)
from turnfsm.runtime.compare import compare as play

__all__ = ["compare"]


Format = Literal["table", "markdown", "json"]


def compare(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID...]", help="Conversations, such as S1. Default: all.", show_default=False
        ),
    ] = None,
    host: Annotated[
        HostName, typer.Option(help="AgentSession and TurnSession, or Pipecat and TurnGovernor.")
    ] = "livekit",
    format: Annotated[Format, typer.Option(help="Format of the result.")] = "table",
    output: Output = None,
) -> None:
    """Play known failures on a framework alone and governed, and show what the caller gets.

    Exit status 0: the governed one is right in every conversation, 1: it is not, 2: bad input.
    """
    with quiet_logs():
        played = load_host(host)
        rows = list(play(played, _chosen(played, ids or [])))
    write_text(_written(played, rows, format), output)
    if format != "table" or output is not None:
        print(summary(played, rows), file=sys.stderr)
    raise typer.Exit(not all(row.ours.right for row in rows))


def _chosen(host: Host, ids: Sequence[str]) -> list[Scenario]:
    """The scenarios with these ids. `S2` also selects `S2.1`, `S2.2` and so on."""
    scenarios = {s.id: s for s in host.all}
    chosen: dict[str, Scenario] = {} if ids else scenarios
    for id in ids:
        named = {n: s for n, s in scenarios.items() if n == id or n.startswith(id + ".")}
        if not named:
            raise TurnfsmError(f"error: no scenario {id!r}; {near(id, scenarios)}")
        chosen |= named
    return list(chosen.values())


def _written(host: Host, rows: Sequence[Compared], format: Format) -> str:
    if format == "markdown":
        return as_markdown(host, rows)
    if format == "json":
        return as_json(host, rows) + "\n"
    console = Console()
    with console.capture() as drawn:
        console.print(as_table(host, rows))
    return drawn.get() + summary(host, rows) + "\n"
