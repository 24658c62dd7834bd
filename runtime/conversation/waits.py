"""Long waits, what a session waits for and for how long, and the limits that end waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import attrs

__all__ = ["Awaited", "LongWait", "TurnLimitReached", "TurnWaitsLong", "Waiting"]

Waiting = Literal["turn", "handoff", "close"]
"""What is waiting."""

Awaited = Literal[
    "model", "output", "tool_running", "output_held", "application", "user_has_the_floor"
]
"""The cause of a wait, with the same name as for a silence."""

MEANS: Mapping[Awaited, str] = {
    "model": "the model or the TTS produces nothing",
    "output": "the audio output gets no more audio, and does not report the end of playout",
    "tool_running": "a tool call runs",
    "output_held": "the reply is held until the user is quiet",
    "application": "a hook or a toolset of the application is still running",
    "user_has_the_floor": "speech without a transcript continues, and the agent is paused",
}
"""The sentence for each."""

USUAL = frozenset({"tool_running", "output_held", "user_has_the_floor"})
"""Causes that are normal, logged with INFO. The others are logged with WARNING."""


@attrs.frozen
class TurnWaitsLong:
    """The event of ``session.on("turn_waits_long", ...)``: a session has been waiting for long.

    It is emitted when a wait has lasted for the flow's timer `report_after` (5 s), each time its
    length has doubled since, and when it has ended.

    Attributes:
        waiting: What is waiting: the ``turn``, a ``handoff`` or the ``close`` of the session.
        cause: What it waits for: ``model``, ``output``, ``tool_running``, ``output_held``,
            ``application`` or ``user_has_the_floor``.
        names: The tool calls, or the hooks of the application.
        since: When the wait began, in seconds since the journal began.
        seconds: How long it has lasted.
        ended: The wait is over.

    Example:
        >>> print(TurnWaitsLong("close", "tool_running", ("pay (call_1)",), 12.0, 5.0))
        the close waits for 5.0 s: a tool call runs: pay (call_1)
    """

    waiting: Waiting
    cause: Awaited
    names: tuple[str, ...]
    since: float
    seconds: float
    ended: bool = False

    def __str__(self) -> str:
        names = f": {', '.join(self.names)}" if self.names else ""
        waits = "has waited" if self.ended else "waits"
        return f"the {self.waiting} {waits} for {self.seconds:.1f} s: {MEANS[self.cause]}{names}"

    @property
    def usual(self) -> bool:
        """A long wait is normal."""
        return self.ended or self.cause in USUAL

    def as_note(self) -> dict[str, object]:
        """Its fields in the journal."""
        return attrs.asdict(self) | {"names": list(self.names)}


LIMITS: Mapping[str, str] = {
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
        why = LIMITS.get(self.limit, "a limit of the flow")
        return f"{self.limit}, {self.seconds:g} s: {why}"


class LongWait:
    """Follows one wait at a time, and reports it each time its length has doubled.

    Args:
        report: Called with each report.
    """

    def __init__(self, report: Callable[[TurnWaitsLong], None]) -> None:
        self._report = report
        self._reported: TurnWaitsLong | None = None

    @property
    def reported(self) -> bool:
        """A reported wait has not ended yet."""
        return self._reported is not None

    def goes_on(
        self, waiting: Waiting, cause: Awaited, names: tuple[str, ...], *, since: float, now: float
    ) -> None:
        """The wait continues."""
        reported = self._reported
        key = waiting, cause, names
        if reported is not None and (reported.waiting, reported.cause, reported.names) == key:
            if now - reported.since < 2 * reported.seconds:
                return
            since = reported.since
        else:
            self.over(now)
        self._reported = wait = TurnWaitsLong(*key, round(since, 6), round(now - since, 6))
        self._report(wait)

    def over(self, now: float) -> None:
        """The wait is over."""
        reported, self._reported = self._reported, None
        if reported is not None:
            seconds = round(now - reported.since, 6)
            self._report(attrs.evolve(reported, seconds=seconds, ended=True))
