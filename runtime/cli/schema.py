"""`turnfsm schema`: the JSON Schema of flows, for editors."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.load.reference import MARKS, with_reference
from turnfsm.fsm.load.schema import schema_text
from turnfsm.runtime.cli._files import write_file

__all__ = ["schema"]


_Format = Literal["json", "markdown"]


_DEFAULT = {"json": Path("specs/flow.schema.json"), "markdown": Path("docs/flows.md")}


def schema(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this file; - prints it.", show_default=False),
    ] = None,
    form: Annotated[
        _Format,
        typer.Option("--format", help="json: for editors. markdown: the reference of all keys."),
    ] = "json",
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit status 1 if the file is out of date."),
    ] = False,
) -> None:
    """Write the JSON Schema of flows (specs/flow.schema.json), or a reference of all keys."""
    path = output or _DEFAULT[form]
    if str(path) == "-":
        print(_fresh(form, None), end="")
        return
    if not path.parent.is_dir():
        raise TurnfsmError(f"{path}: there is no folder {path.parent}; name a file with --output")
    old = path.read_text(encoding="utf-8") if path.is_file() else None
    new = _fresh(form, old)
    if old == new:
        return
    if check:
        print(f"{path} is stale: run 'turnfsm schema --output {path}'", file=sys.stderr)
        raise typer.Exit(1)
    write_file(path, new.encode())
    if path.is_file():
        print(f"{path} written")


def _fresh(form: _Format, old: str | None) -> str:
    if form == "json":
        return schema_text()
    renewed = with_reference("{}{}\n".format(*MARKS) if old is None else old)
    if renewed is None:
        raise TurnfsmError(f"the document has no part to renew; add the lines {MARKS}")
    return renewed
