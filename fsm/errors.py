"""The errors of turnfsm.

TurnfsmError            what a user can cause and correct; the command prints it and exits with 2
├── FlowError           a flow that cannot be used; carries the findings
├── UnknownTrigger      a trigger that the flow does not declare
├── UnknownName         a state, fact, timer or action that the flow does not have
└── HostError           a host that does not fit the flow
"""

from __future__ import annotations

import difflib
import itertools
import unicodedata
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
    "closest",
    "did_you_mean",
    "near",
    "quoted",
]

_MOST_COMPARED = 300
_MOST_LISTED = 16
_SHORT = 5  # letters


def quoted(word: object) -> str:
    """A name for a message: quoted, and shortened if it is long."""
    text = str(word)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def closest(word: object, known: Iterable[str], *, alike: float | None = None) -> str | None:
    """The name that was probably meant.

    Args:
        alike: How similar it must be, from 0 to 1. By default short names may differ more, as one
            letter is much of them.
    """
    # Comparing is slow, and a file with this many names is no longer read by eye.
    names = list(itertools.islice(known, _MOST_COMPARED))
    if len(text := str(word)) > 60:
        return None
    folded = {name.casefold().replace("-", "_"): name for name in names}
    if same := folded.get(text.casefold().replace("-", "_")):
        return same
    alike = (0.6 if len(text) <= _SHORT else 0.7) if alike is None else alike
    close = difflib.get_close_matches(text, names, 1, alike)
    return close[0] if close else None


def did_you_mean(word: object, meant: str) -> str:
    """The remedy for a misspelt name. If both look the same, it names the letter that differs."""
    pairs = [(a, b) for a, b in itertools.zip_longest(str(word), meant, fillvalue="") if a != b]
    text = f"did you mean {meant!r}?"
    if pairs and all(a and b and not a.isascii() for a, b in pairs):
        wrong = pairs[0][0]
        text += f" {wrong!r} is {unicodedata.name(wrong, f'U+{ord(wrong):04X}')}"
    return text


def near(word: object, known: Iterable[str]) -> str:
    """A "did you mean" remedy, or the declared names if none is similar."""
    names = sorted(known)
    if meant := closest(word, names):
        return did_you_mean(word, meant)
    if not names:
        return "none is declared"
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return "there is: " + ", ".join(map(_cut, names[:_MOST_LISTED])) + more


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:57] + "..."


class TurnfsmError(Exception):
    """An error that the caller can correct. The message says how.

    Example:
        >>> from turnfsm import TurnfsmError, load_flow
        >>> try:
        ...     load_flow("trun")
        ... except TurnfsmError as error:
        ...     print("did you mean 'turn'" in str(error))
        True
    """

    exit_status = 2


class FlowError(TurnfsmError):
    """A flow that cannot be used.

    Args:
        message: What is printed.
        findings: Every problem of the file, in the order of its lines.

    Attributes:
        findings: The same.

    Example:
        >>> from turnfsm import FlowError, load_flow
        >>> try:
        ...     load_flow("trun")
        ... except FlowError as error:
        ...     print(error.findings[0].code)
        unknown-flow
    """

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class UnknownTrigger(TurnfsmError, LookupError):
    """A trigger that the flow does not declare: a typing error. Refusals never raise.

    Args:
        trigger: The name.
        flow: The name of the flow.
        known: The triggers that the flow has.
    """

    def __init__(self, trigger: str, flow: str, known: Iterable[str]) -> None:
        super().__init__(f"flow {flow!r} has no trigger {quoted(trigger)}; {near(trigger, known)}")
        self.trigger = trigger


class UnknownName(TurnfsmError, LookupError):
    """A state, fact, timer or action that the flow does not have.

    Args:
        what: What it should be, such as ``timer``.
        name: The name.
        flow: The name of the flow.
        known: The names that the flow has.
    """

    def __init__(self, what: str, name: str, flow: str, known: Iterable[str]) -> None:
        super().__init__(f"flow {flow!r} has no {what} {quoted(name)}; {near(name, known)}")
        self.name = name


class HostError(TurnfsmError):
    """A host that does not fit the flow: the method of an action or of a host fact is missing."""
