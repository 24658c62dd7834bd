"""`turnfsm export`: a flow for another tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turnfsm.runtime.cli._options import FlowName, Output

if TYPE_CHECKING:
    from turnfsm.fsm.flow import Flow

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
    from turnfsm.fsm.load.loader import load_flow
    from turnfsm.runtime.cli._files import write_text

    write_text(_text(load_flow(flow), to, output), output)


def _text(flow: Flow, to: Target, output: Path | None) -> str:
    if to == "promela":
        from turnfsm.fsm.interop.promela import to_promela

        return to_promela(flow)
    if to == "xstate":
        from turnfsm.fsm.interop.xstate import to_xstate, xstate_module

        module = output is not None and output.suffix in {".js", ".mjs"}
        return xstate_module(flow) if module else _json(to_xstate(flow))
    from turnfsm.fsm.interop.machine_out import transitions_config

    return _json(transitions_config(flow))


def _json(tree: object) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
