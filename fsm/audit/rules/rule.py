"""A rule, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from turnfsm.fsm.audit.events import Evidence
from turnfsm.fsm.audit.facts import Facts

__all__ = [
    "AT_ONCE",
    "LONG",
    "RULES",
    "UNANSWERED",
    "AuditFinding",
    "Decision",
    "Found",
    "Rule",
    "rule",
]

AT_ONCE = 0.05
"""Two events within this many seconds count as simultaneous."""

LONG = 1.0
"""Seconds after which something immediate counts as late."""

UNANSWERED = 4.0
"""Seconds of silence after which a user would ask whether anybody is there."""

Found = Iterator[tuple[float, str]]
"""The time in seconds, and what happened, in a sentence."""

Look = Callable[[Facts], Found]


@attrs.frozen
class Decision:
    """The flow's decision at the failure.

    Attributes:
        file, line, column: The place in the flow: the transition, the refusal, or the agent state.
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
        at: In seconds.
        failure: The letter of its class in docs/failures.md; empty if it has none.
        property: The one of the ten properties that forbids it; empty if none does.
        what: What happened, in a sentence.
        decision: The flow's decision at that point; None if the flow does not decide this.
        line: The line of the recording; 0 if unknown.
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
        """The finding, followed by the flow's decision, or by the reason why there is none."""
        outage = not (self.failure or self.property)
        none = "an outage, which no flow decides" if outage else "the flow does not decide this"
        return str(self), f"{'':12}{self.decision or none}"


@attrs.frozen
class Rule:
    """Looks for one failure; `failure` and `property` are those of its findings.

    Attributes:
        asks: The flow's triggers to look for at the finding, of the turn or of the flow `session`;
            the first one that was decided then is used. Or ``agent_state``.
        needs: The evidence that it needs besides who speaks when.
    """

    look: Look
    failure: str
    property: str
    asks: tuple[str, ...]
    needs: tuple[Evidence, ...]

    def findings(self, facts: Facts) -> Iterator[AuditFinding]:
        """The findings, in the order of the recording."""
        for at, what in self.look(facts):
            yield AuditFinding(at, self.failure, self.property, what)


RULES: list[Rule] = []
"""All rules; a module of rules adds its own."""


def rule(
    failure: str, property: str, *asks: str, needs: tuple[Evidence, ...]
) -> Callable[[Look], Look]:
    """Decorate a function that looks for a failure: it is added to the rules."""

    def add(look: Look) -> Look:
        RULES.append(Rule(look, failure, property, asks, needs))
        return look

    return add
