"""`turnfsm paths`: the shortest paths that cover a flow."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import attrs
import typer

if TYPE_CHECKING:
    from turnfsm.fsm.cover import Cover, PathStep
    from turnfsm.fsm.flow import Flow

__all__ = ["paths"]


Format = Literal["text", "json", "yaml"]


Where = Literal["pump", "session"]


def paths(
    flow: Annotated[
        str, typer.Argument(metavar="FLOW", help="A shipped flow, such as turn, or a .yaml file.")
    ],
    format: Annotated[Format, typer.Option(help="Format of the paths.")] = "text",
    run: Annotated[
        Where | None,
        typer.Option(
            help="Play the paths in virtual time. pump: post each trigger to the event pump. "
            "session: play them on a TurnSession with scripted user, model, TTS and audio output "
            "(for turn and flows that extend it)."
        ),
    ] = None,
) -> None:
    """List short paths that together take every transition and test every guard both ways."""
    from turnfsm.fsm.cover import cover
    from turnfsm.fsm.load.loader import load_flow

    loaded = load_flow(flow)
    if run is not None:
        _run(loaded, run)
        return
    found = cover(loaded)
    if format == "text":
        print(_text(found))
    elif format == "json":
        print(json.dumps(attrs.asdict(found), indent=2, ensure_ascii=False))
    else:
        import yaml

        print(yaml.safe_dump(attrs.asdict(found), sort_keys=False, allow_unicode=True), end="")


def _run(flow: Flow, where: Where) -> None:
    """Run every path. Exit with 1 if the runtime and the model differ."""
    ran, problems = (_on_pump if where == "pump" else _on_session)(flow)
    print(ran)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise typer.Exit(1)


def _on_pump(flow: Flow) -> tuple[str, list[str]]:
    from turnfsm.fsm.cover import cover
    from turnfsm.runtime.testing.pump_walk import play_path

    paths = [path for path in cover(flow).paths if path.timers is not None]
    said = [f"{path.name}: {problem}" for path in paths for problem in play_path(path, flow)]
    return f"{flow.name}: {len(paths)} paths run on the event pump, {len(said)} problems", said


def _on_session(flow: Flow) -> tuple[str, list[str]]:
    from turnfsm.runtime.testing.livekit.walks import session_paths, walk_path

    paths = [path for path in session_paths(flow).paths if path.timers is not None]
    walks = [walk_path(path, flow) for path in paths]
    said = [f"{walk.path.name}: {problem}" for walk in walks for problem in walk.problems]
    rows, taken = [row.id for row in flow.rows()], {row for walk in walks for row in walk.rows}
    share = f"{len(taken)} of {len(rows)} transitions ({len(taken) / len(rows):.0%})"
    head = f"{flow.name}: {len(paths)} paths walked by a TurnSession take {share}"
    left = [f"not taken: {row}" for row in rows if row not in taken]
    return "\n".join([f"{head}, {len(said)} problems", *left]), said


def _text(found: Cover) -> str:
    lines = []
    for number, path in enumerate(found.paths, 1):
        lines.append(f"{number}. {', '.join(path.covers)}")
        lines += [f"     {_line(step)}" for step in path.steps]
    goals = sum(len(path.covers) for path in found.paths)
    lines.append(f"{found.flow}: {len(found.paths)} paths cover {goals} goals")
    lines += [f"no path reaches: {goal}" for goal in found.unreachable]
    return "\n".join(lines)


def _line(step: PathStep) -> str:
    host = ", ".join(name if yes else f"not {name}" for name, yes in step.host_facts.items())
    what = f"after {step.trigger}" if step.timer else step.trigger
    of = f" of {step.of}" if step.of else ""
    asked = f" ({host})" if host else ""
    does = f" / {', '.join(step.actions)}" if step.actions else ""
    came = f"-> {step.state}" if step.verdict == "taken" else f"refused ({step.verdict})"
    return f"{what}{of}{asked} {came}{does}"
