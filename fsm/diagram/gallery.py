"""Every flow in a folder: pictures, and an index that shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turnfsm.fsm.flow import Flow, in_words
from turnfsm.fsm.matrix import as_markdown, matrix

from . import render

__all__ = ["INDEX", "gallery"]

INDEX = "README.md"


def gallery(flows: Mapping[str, Flow]) -> dict[str, bytes]:
    """File name to content: overview, picture, page and matrix of each flow; the index."""
    files: dict[str, bytes] = {}
    for name, flow in flows.items():
        files[f"{name}.overview.svg"] = render(flow, "svg", overview=True)
        files[f"{name}.svg"] = render(flow, "svg")
        files[f"{name}.md"] = render(flow, "md")
        files[f"{name}.matrix.md"] = as_markdown(matrix(flow)).encode()
    files[INDEX] = ("\n".join(_index(flows)) + "\n").encode()
    return files


def _index(flows: Mapping[str, Flow]) -> Iterator[str]:
    yield "# The shipped flows"
    yield ""
    yield "Drawn by `turnfsm diagrams`; do not edit."
    for name, flow in flows.items():
        yield from ("", f"## {name}", "")
        yield from _three_lines(flow)
        yield ""
        yield f"[![{name}, the overview]({name}.overview.svg)]({name}.svg)"
        yield ""
        links = (
            f"[picture with all transitions]({name}.svg)",
            f"[all transitions, state by state]({name}.md)",
            f"[matrix of states and triggers]({name}.matrix.md)",
            f"[YAML](../specs/{name}.yaml)",
        )
        yield " · ".join(links)


def _three_lines(flow: Flow) -> Iterator[str]:
    states = ", ".join(f"`{state}`" for state in flow.states)
    timers = ", ".join(f"`{name}` {in_words(seconds)}" for name, seconds in flow.timers.items())
    rows = sum(1 for _ in flow.rows())
    yield f"{flow.is_ or flow.name}\\"
    yield f"{len(flow.states)} states ({states}), {rows} transitions; starts in `{flow.initial}`.\\"
    yield f"Timers: {timers}." if timers else "It has no timers."
