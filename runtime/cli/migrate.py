"""`turnfsm migrate`: whether stored sessions survive the change of a flow."""

from __future__ import annotations

from typing import Annotated

import typer

from turnfsm.fsm import load_flow
from turnfsm.fsm.diagnostics import render_findings
from turnfsm.fsm.migrate import StoredFlow, tools_lost, why_not
from turnfsm.runtime.cli._streams import printable

__all__ = ["migrate"]


def migrate(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The flow that runs now.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The flow that is to be deployed.")],
) -> None:
    """Say whether a changed flow continues the sessions that a store has saved.

    Exit status 0: it does, 1: it does not; the remedy is printed, 2: bad input.
    """
    before, after = load_flow(old), load_flow(new)
    reason = why_not(StoredFlow.of(before), after)
    findings = [*tools_lost(before, after), *([reason] if reason else [])]
    if findings:
        print(printable(render_findings(findings)))
    for name, now in after.migrates.tools.items():
        print(printable(f"calls of {name} are calls of {now}"))
    if reason is not None:
        raise typer.Exit(1)
    print(printable(f"{new} continues the sessions of {old}, and {old} those of {new}"))
