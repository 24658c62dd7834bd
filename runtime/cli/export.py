"""`turnfsm export`: a flow for another tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.interop.machine_out import transitions_config
from turnfsm.fsm.interop.promela import to_promela
from turnfsm.fsm.interop.xstate import to_xstate, xstate_module
from turnfsm.runtime.cli._files import write_text
from turnfsm.runtime.cli._options import FlowName, Output

__all__ = ["export"]


Target = Literal["transitions", "xstate", "promela"]


def export(
    flow: FlowName,
    to: Annotated[
        Target,
        typer.Option(
            help="transitions: JSON, the arguments of its Machine. xstate: JSON, what "
            "createMachine takes, or a module if FILE ends in .js or .mjs. promela: a model for "
            "Spin, with the properties of the flow."
        ),
    ],
    output: Output = None,
) -> None:
    """Write a flow for another tool: transitions, XState or Spin."""
    write_text(_text(load_flow(flow), to, output), output)


def _text(flow: Flow, to: Target, output: Path | None) -> str:
    if to == "promela":
        return to_promela(flow)
    if to == "xstate" and output is not None and output.suffix in {".js", ".mjs"}:
        return xstate_module(flow)
    tree = to_xstate(flow) if to == "xstate" else transitions_config(flow)
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
