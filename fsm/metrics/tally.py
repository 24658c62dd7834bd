"""Counts what went wrong in one conversation."""

from __future__ import annotations

import attrs

from turnfsm.fsm.journal import AgentEntryFailed, Closed, ComponentFailed

from .values import LimitReached, Refusal, Reported, Response, Silence, Value

__all__ = ["Tally"]


@attrs.define
class Tally:
    """Counts the trouble of one conversation, value by value.

    A silence counts if the user was waiting for the agent.

    Attributes:
        waited: Seconds of silence.
        longest: The longest silence; None if there is none.
        slowest: The slowest response; None if there is none.
        refused: The first refusal; None if there is none.
        refusals: How many requests and events were refused.
        limits: How many time limits were reached.
        failures: How many components failed for good, plus one if an error closed the session.
    """

    waited: float = 0.0
    longest: Silence | None = None
    slowest: Response | None = None
    refused: Refusal | None = None
    refusals: int = 0
    limits: int = 0
    failures: int = 0

    def add(self, value: Value) -> None:
        """Count a value."""
        match value:
            case Silence() if value.cause != "nothing_asked":
                self.waited += value.seconds
                if self.longest is None or value.seconds > self.longest.seconds:
                    self.longest = value
            case Response() if self.slowest is None or value.seconds > self.slowest.seconds:
                self.slowest = value
            case Refusal():
                self.refused = self.refused or value
                self.refusals += 1
            case LimitReached():
                self.limits += 1
            case Reported(event=ComponentFailed(recoverable=False) | AgentEntryFailed()):
                self.failures += 1
            case Reported(event=Closed(reason="error")):
                self.failures += 1

    @property
    def worst(self) -> float | None:
        """The second to look at first.

        That is the start of the longest silence. Without a silence it is the end of the user's
        speech before the slowest response; without a response it is the first refusal.
        """
        if self.longest is not None:
            return self.longest.start
        if self.slowest is not None:
            return self.slowest.at
        return None if self.refused is None else self.refused.at

    @property
    def rank(self) -> tuple[float, ...]:
        """The sort key of conversations by trouble: failures, limits, the longest silence,
        refusals."""
        longest = 0.0 if self.longest is None else self.longest.seconds
        return (self.failures, self.limits, longest, self.refusals)
