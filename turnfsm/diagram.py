"""Pictures of flows and of conversations.

Example:
    >>> from turnfsm import load_flow
    >>> from turnfsm.diagram import render
    >>> render(load_flow("turn"), "mmd").decode().splitlines()[0]
    'stateDiagram-v2'
"""

from turnfsm.fsm.diagram import (
    Format,
    Marks,
    StateRows,
    Theme,
    configuration,
    format_of,
    render,
    timeline,
    to_png,
    trace,
)

__all__ = [
    "Format",
    "Marks",
    "StateRows",
    "Theme",
    "configuration",
    "format_of",
    "render",
    "timeline",
    "to_png",
    "trace",
]


def __dir__() -> list[str]:
    return __all__
