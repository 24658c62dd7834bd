"""Draws flows and conversations.

Example:
    >>> from turnfsm import load_flow
    >>> from turnfsm.diagram import render
    >>> render(load_flow("turn"), "mmd").decode().splitlines()[0]
    'stateDiagram-v2'
"""

from turnfsm.fsm.diagram import (
    Format,
    Marks,
    Theme,
    format_of,
    journal_marks,
    render,
    state_marks,
    timeline,
    to_png,
)

__all__ = [
    "Format",
    "Marks",
    "Theme",
    "format_of",
    "journal_marks",
    "render",
    "state_marks",
    "timeline",
    "to_png",
]


def __dir__() -> list[str]:
    return __all__
