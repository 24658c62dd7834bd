"""`turnfsm view`: a conversation or a flow in the browser."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turnfsm.fsm import TurnfsmError, shipped_flows
from turnfsm.fsm.journal import read_journal
from turnfsm.fsm.journal.recorded_flow import recorded_flow
from turnfsm.runtime.cli._files import write_file
from turnfsm.runtime.cli._options import FlowOfJournal, flows_of
from turnfsm.runtime.view.follow import Folder
from turnfsm.runtime.view.journal_page import journal_page
from turnfsm.runtime.view.live import LiveView
from turnfsm.runtime.view.sound import read_sound

if TYPE_CHECKING:
    from turnfsm.runtime.view.studio import FlowStudio

__all__ = ["view"]

Address = tuple[str, int, str | None]
"""The host, the port, and the token that viewers need."""

_LOOK = 0.2
"""Seconds between two reads of growing journals."""


def view(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="JOURNAL|FLOW",
            help="A journal (JSONL file); with --live also a folder of them. Or a flow: a shipped "
            "one, such as turn, or a .yaml file.",
        ),
    ],
    audio: Annotated[
        Path | None,
        typer.Option(
            metavar="WAV", help="The recording: user left, agent right, or both in one channel."
        ),
    ] = None,
    offset: Annotated[
        float, typer.Option(help="The second of the journal at which the recording begins.")
    ] = 0.0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="FILE.html. Default: beside the journal."),
    ] = None,
    flow: FlowOfJournal = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show journals in the browser while they are written.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(help="The address to serve the page at. Not 127.0.0.1: viewers need a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="The port to serve the page at; 0: any free one."),
    ] = 8765,
    token: Annotated[
        str | None,
        typer.Option(help="The token that viewers need. Default: random, or none at 127.0.0.1."),
    ] = None,
) -> None:
    """Show a conversation, or a flow, in the browser.

    For a journal, write one HTML file that needs no server: diagram, timeline, transcript, audio,
    and the YAML line of each decision. With --live, serve this page while the journal is written.
    (To see a session without a journal, start your agent with the environment variable
    TURNFSM_VIEW=1.)

    For a flow, serve a page with diagram, table, proof, counterexamples and a simulator. It is
    updated when you save the file. With -o, write one HTML file, without the simulator.

    Exit status 0: done, 2: bad input.
    """
    served = host, port, token
    shipped = str(source) in shipped_flows() and not source.exists()
    if shipped or source.suffix in (".yaml", ".yml"):
        if live or audio is not None or flow is not None:
            raise typer.BadParameter("of a flow; leave --live, --audio and --flow out")
        _show_flow(str(source), output, served)
        return
    if live:
        if audio is not None or output is not None:
            raise typer.BadParameter("--live serves a page; leave --audio and --output out")
        _serve(source, flow, served)
        return
    journal = read_journal(source)
    governed = recorded_flow(journal.header.flow, flows_of(flow), source)
    sound = None if audio is None else read_sound(audio)
    page = journal_page(journal, governed, sound, offset, f"{source.name}: {governed.name}")
    out = output or source.with_suffix(".html")
    write_file(out, page.encode())
    if output is None:
        print(out)


def _serve(source: Path, flow: str | None, at: Address) -> None:
    """Follow journals until Ctrl-C."""
    if not source.exists():
        raise TurnfsmError(f"{source}: no such file or folder; name a journal or a folder of them")
    viewer = LiveView(*at)
    given = flows_of(flow)
    folder = Folder(source, viewer.hub, lambda name: recorded_flow(name, given, source))

    def look() -> None:
        for trouble in viewer.in_server(folder.look):
            print(trouble, file=sys.stderr, flush=True)

    _until_interrupted(viewer, f"{source} as it grows", look)


def _until_interrupted(
    server: LiveView | FlowStudio, what: str, look: Callable[[], None] = lambda: None
) -> None:
    print(f"{server.url} shows {what}; Ctrl-C ends it", flush=True)
    try:
        while True:
            look()
            time.sleep(_LOOK)
    except KeyboardInterrupt:
        pass
    finally:
        server.close()


def _show_flow(name: str, output: Path | None, at: Address) -> None:
    """Write the page of a flow, or serve it until Ctrl-C."""
    # the checker is imported only here: a conversation is shown without it
    from turnfsm.runtime.view.flow_page import flow_page
    from turnfsm.runtime.view.studio import FlowStudio

    if name.endswith((".yaml", ".yml")) and not Path(name).exists():
        raise TurnfsmError(f"{name}: no such file; name a flow: a shipped one or a .yaml file")
    if output is not None:
        write_file(output, flow_page(name).encode())
        return
    _until_interrupted(FlowStudio(name, *at), f"{name} as you save it")
