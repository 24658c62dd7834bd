"""One rule, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from turnfsm.fsm.audit.facts import Facts

__all__ = ["AT_ONCE", "LONG", "AuditFinding", "Decision", "Found", "Rule"]

AT_ONCE = 0.05
"""Seconds within which two events are taken for one moment."""

LONG = 1.0
"""Seconds after which something that should follow at once has been waited for."""

Found = Iterator[tuple[float, str]]
"""When something shows, in seconds, and what happened, in a sentence."""


@attrs.frozen
class Decision:
    """What the flow decides where the session has failed.

    Attributes:
        file, line, column: The place in the flow: the transition, what refuses, or the agent state.
        what: The decision, such as ``reply refused in interrupted: ...``.
    """

    file: str
    line: int
    column: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.what}"


@attrs.frozen
class AuditFinding:
    """One failure that an audit has found.

    Attributes:
        at: When, in seconds.
        failure: The letter of its class in docs/failures.md; empty if it has none.
        property: The one of the ten properties that forbids it; empty if none does.
        what: What happened, in a sentence.
        decision: What the flow decides there; None if it has no say in this.
        line: The line of the recording that was reached; 0 if it has none.
    """

    at: float
    failure: str
    property: str
    what: str
    decision: Decision | None = None
    line: int = 0

    def __str__(self) -> str:
        held = f" ({self.property})" if self.property else ""
        return f"{self.at:8.2f} s  {self.failure or '-'}  {self.what}{held}"

    def lines(self) -> tuple[str, ...]:
        """The finding, and below it what the flow decides."""
        told = () if self.decision is None else (f"{'':12}{self.decision}",)
        return str(self), *told


@attrs.frozen
class Rule:
    """Looks for one failure; `failure` and `property` are those of its findings.

    Attributes:
        asks: What the flow is asked where it is found: triggers of the flow of the turn or of the
            flow `session`, the first that was decided then; or ``agent_state``.
    """

    failure: str
    property: str
    look: Callable[[Facts], Found]
    asks: tuple[str, ...] = ()

    def findings(self, facts: Facts) -> Iterator[AuditFinding]:
        """What it finds, in the order of the recording."""
        for at, what in self.look(facts):
            yield AuditFinding(at, self.failure, self.property, what)
