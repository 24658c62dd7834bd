"""Limits of the flow that a stock session does not have: each that is reached is reported."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

__all__ = ["MEANS", "TurnLimitReached"]

MEANS: Mapping[str, str] = {
    "thinking_limit": "the model has given nothing for so long; its reply is given up",
    "speaking_limit": "the output has not said that it has played what it was given; it is cut",
    "pause_limit": "the user was heard for so long without words; the speech is not resumed",
    "tool_limit": "a tool call has run for so long; the turn goes on without it",
    "turn_overdue": "a turn of the user has no reply yet; it is not waited for any longer",
}
"""What it means that a limit of `specs/turn.yaml` is reached."""


@attrs.frozen
class TurnLimitReached:
    """Says ``session.on("turn_limit_reached", ...)``: a limit of the flow has ended a wait.

    Attributes:
        limit: The timer's name; `TurnSession(timers={...})` gives it other seconds.
        seconds: How long it was waited, since something last came.
    """

    limit: str
    seconds: float

    def __str__(self) -> str:
        why = MEANS.get(self.limit, "a limit of the flow is reached")
        return f"{self.limit}, {self.seconds:g} s: {why}"
