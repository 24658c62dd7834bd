"""`turnfsm diagrams`: all shipped flows as pictures, with an index."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from turnfsm.fsm import load_flow, shipped_flows
from turnfsm.fsm.diagram.gallery import gallery
from turnfsm.runtime.cli._files import write_file

__all__ = ["diagrams"]

_OURS = {".svg", ".png", ".mmd", ".md"}


def diagrams(
    folder: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")] = Path(
        "diagrams"
    ),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit status 1 if a file is out of date.")
    ] = False,
) -> None:
    """Draw all shipped flows: SVG, tables, and an index (README.md)."""
    files = gallery({name: load_flow(path) for name, path in shipped_flows().items()})
    stale = _stale(folder, files)
    if check:
        _report(folder, stale)
        return
    for name in stale:
        if name in files:
            write_file(folder / name, files[name])
        else:
            (folder / name).unlink()
    print(f"{folder}: {len(files)} files, {len(stale)} written or removed")


def _stale(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Each stale file, and what is wrong with it."""
    stale = {}
    for name, content in files.items():
        path = folder / name
        if not path.is_file():
            stale[name] = "is missing"
        elif path.read_bytes() != content:
            stale[name] = "is stale"
    there = folder.iterdir() if folder.is_dir() else ()
    for path in sorted(there):
        if path.suffix in _OURS and path.name not in files:
            stale[path.name] = "belongs to no shipped flow"
    return stale


def _report(folder: Path, stale: Mapping[str, str]) -> None:
    for name, wrong in stale.items():
        print(f"{folder / name}: {wrong}", file=sys.stderr)
    if stale:
        where = "" if folder == Path("diagrams") else f" -o {folder}"
        print(f"  = help: run 'turnfsm diagrams{where}' and commit the result", file=sys.stderr)
        raise typer.Exit(1)
