"""`turnfsm view`: a conversation on a page of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turnfsm.runtime.cli._files import write_whole

if TYPE_CHECKING:
    from turnfsm.fsm import Flow

__all__ = ["view"]


def view(
    what: Annotated[Path, typer.Argument(metavar="JOURNAL", help="A journal (JSONL).")],
    audio: Annotated[
        Path | None,
        typer.Option(metavar="WAV", help="The recording: user left, agent right, or one channel."),
    ] = None,
    offset: Annotated[
        float, typer.Option(help="The second of the journal at which the recording begins.")
    ] = 0.0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="FILE.html. Default: beside the journal."),
    ] = None,
    flow: Annotated[
        str | None, typer.Option(help="The flow of the journal. Default: the one that it names.")
    ] = None,
) -> None:
    """Write a conversation as one HTML page that needs nothing else: picture, time, words, sound.

    Exit status 0: done, 2: bad input.
    """
    from turnfsm.fsm.journal import read_journal
    from turnfsm.runtime.view import journal_page
    from turnfsm.runtime.view.sound import read_sound

    journal = read_journal(what)
    governed = _flow(flow, journal.header.flow, what)
    sound = None if audio is None else read_sound(audio)
    page = journal_page(journal, governed, sound, offset, f"{what.name}: {governed.name}")
    out = output or what.with_suffix(".html")
    write_whole(out, page.encode())
    if output is None:
        print(out)


def _flow(named: str | None, told: str, journal: Path) -> Flow:
    """The named flow; else the journal's, if it is a shipped one."""
    from turnfsm.fsm import load_flow, shipped_flows
    from turnfsm.fsm.errors import TurnfsmError

    if named is None and told not in shipped_flows():
        raise TurnfsmError(
            f"{journal}: of the flow {told!r}, which is none of the shipped ones; "
            "name its file: --flow FILE.yaml"
        )
    return load_flow(named or told)
