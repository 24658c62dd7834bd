"""`turnfsm paths`: the shortest paths that cover a flow."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fsm.paths import Cover, PathStep

__all__ = ["paths"]


class Format(StrEnum):
    """How the paths are written."""

    text = "text"
    json = "json"
    yaml = "yaml"


def paths(
    flow: Annotated[str, typer.Argument(help="A shipped flow or a .yaml file.")],
    format: Annotated[Format, typer.Option(help="How the paths are written.")] = Format.text,
) -> None:
    """List the shortest paths that cover every state, transition and guard outcome."""
    from fsm.loader import load_flow
    from fsm.paths import cover

    found = cover(load_flow(flow))
    if format is Format.text:
        typer.echo(_text(found))
    elif format is Format.json:
        typer.echo(json.dumps(_plain(found), indent=2, ensure_ascii=False))
    else:
        import yaml

        typer.echo(yaml.safe_dump(_plain(found), sort_keys=False, allow_unicode=True), nl=False)


def _text(found: Cover) -> str:
    lines = []
    for number, scenario in enumerate(found.scenarios, 1):
        lines.append(f"{number}. {', '.join(scenario.covers)}")
        lines += [f"     {_line(step)}" for step in scenario.steps]
    goals = sum(len(scenario.covers) for scenario in found.scenarios)
    lines.append(f"{found.flow}: {len(found.scenarios)} paths cover {goals} goals")
    lines += [f"no path reaches: {goal}" for goal in found.unreachable]
    return "\n".join(lines)


def _line(step: PathStep) -> str:
    host = ", ".join(name if yes else f"not {name}" for name, yes in step.given.items())
    what = f"after {step.trigger}" if step.timer else step.trigger
    of = f" of {step.of}" if step.of else ""
    asked = f" ({host})" if host else ""
    does = f" / {', '.join(step.actions)}" if step.actions else ""
    came = f"-> {step.state}" if step.verdict == "taken" else f"refused ({step.verdict})"
    return f"{what}{of}{asked} {came}{does}"


def _plain(found: Cover) -> dict[str, Any]:
    scenarios = []
    for scenario in found.scenarios:
        timers = dict(scenario.timers) if scenario.timers else {}
        steps = [_step(step) for step in scenario.steps]
        scenarios.append({"covers": list(scenario.covers), "timers": timers, "steps": steps})
    return {
        "flow": found.flow,
        "scenarios": scenarios,
        "unreachable": list(found.unreachable),
    }


def _step(step: PathStep) -> dict[str, Any]:
    named: dict[str, Any] = {
        "timer" if step.timer else "trigger": step.trigger,
        "of": step.of,
        "given": dict(step.given),
        "verdict": step.verdict,
        "row": step.row,
        "state": step.state,
        "facts": list(step.facts),
        "actions": list(step.actions),
    }
    always = {"verdict", "state", "facts"}
    return {key: value for key, value in named.items() if value or key in always}
