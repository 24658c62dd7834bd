"""The errors of turnfsm.

TurnfsmError            whatever a user can cause and mend; the command prints it and exits 2
├── FlowError           a flow that cannot be used; carries the findings
├── UnknownTrigger      a trigger that the flow declares nowhere
├── UnknownName         a state, fact, timer or action that the flow does not have
└── HostError           a host that does not fit the flow
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .diagnostics import Finding

__all__ = [
    "FlowError",
    "HostError",
    "TurnfsmError",
    "UnknownName",
    "UnknownTrigger",
    "near",
]


def near(word: object, known: Iterable[str]) -> str:
    """A "did you mean" remedy, or what there is when nothing is near."""
    names = sorted(known)
    close = difflib.get_close_matches(str(word), names, 1, 0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return "there is: " + ", ".join(names) if names else "none is declared"


class TurnfsmError(Exception):
    """Something that the caller can mend; the message names the remedy."""

    exit_status = 2


class FlowError(TurnfsmError):
    """A flow that cannot be used.

    Attributes:
        findings: Every problem of the file, in the order of its lines.
    """

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class UnknownTrigger(TurnfsmError, LookupError):
    """A trigger that the flow declares nowhere; a typing error, never a refusal."""

    def __init__(self, trigger: str, flow: str, known: Iterable[str]) -> None:
        super().__init__(f"flow {flow!r} has no trigger {trigger!r}; {near(trigger, known)}")
        self.trigger = trigger


class UnknownName(TurnfsmError, LookupError):
    """A state, fact, timer or action that the flow does not have."""

    def __init__(self, what: str, name: str, flow: str, known: Iterable[str]) -> None:
        super().__init__(f"flow {flow!r} has no {what} {name!r}; {near(name, known)}")
        self.name = name


class HostError(TurnfsmError):
    """A host that does not fit the flow: an action or a given fact is missing."""
