"""The time limits of the flow, and the event that reports one."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

__all__ = ["MEANS", "TurnLimitReached"]

MEANS: Mapping[str, str] = {
    "thinking_limit": "the model has produced nothing for this long; its reply is dropped",
    "speaking_limit": "the output has not reported the end of playout; the speech is interrupted",
    "pause_limit": "the user spoke for this long without a transcript; the agent does not resume",
    "tool_limit": "a tool call has run for this long; the turn continues without it",
    "turn_overdue": "a user turn has had no reply for this long; nothing waits for it any more, "
    "but a late one is still spoken",
}
"""The meaning of each limit of `specs/turn.yaml`."""


@attrs.frozen
class TurnLimitReached:
    """The event of ``session.on("turn_limit_reached", ...)``: a limit of the flow has ended a wait.

    Attributes:
        limit: The timer's name. `limits` or `timers` of a session, or of a flow, sets its seconds.
        seconds: The limit, counted from the last sign of progress.
    """

    limit: str
    seconds: float

    def __str__(self) -> str:
        why = MEANS.get(self.limit, "a limit of the flow")
        return f"{self.limit}, {self.seconds:g} s: {why}"
