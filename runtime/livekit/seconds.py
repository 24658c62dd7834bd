"""The seconds of a session's timers: those of its flow, and those of the flow `session`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from turnfsm.fsm import Flow
from turnfsm.fsm.load import load_shipped
from turnfsm.runtime.arguments import check_limits, check_timers

from .options import gives_timeout

__all__ = ["Seconds"]

_AT_ONCE = 0.01
"""The shortest timer, used for a `false_interruption_timeout` of 0."""

_LONGEST = 80_000.0
"""The longest timer, used for longer timeouts."""


@attrs.frozen
class Seconds:
    """A session's seconds for timers, by source.

    Attributes:
        flow: The flow of its turns.
        limits: The seconds of the chosen set of limits.
        given: The seconds set by the application.
        session: The seconds for the flow `session`.
    """

    flow: Flow
    limits: Mapping[str, float]
    given: Mapping[str, float]
    session: Mapping[str, float]

    @classmethod
    def of(cls, flow: Flow, limits: str | None, timers: Mapping[str, float] | None) -> Seconds:
        """Check the arguments of a session.

        Raises:
            UnknownName: There is no such timer, or no such set of limits.
            TurnfsmError: `timers` is not a mapping of timers to seconds.
        """
        life, limits = load_shipped("session"), limits if limits is not None else flow.limits
        own = {}
        if isinstance(timers, Mapping):
            own = {n: s for n, s in timers.items() if n in life.timers and n not in flow.timers}
            timers = {name: seconds for name, seconds in timers.items() if name not in own}
        limited = check_limits(flow, limits)
        session = life.limited(limits) if limits and limits in life.limit_sets else {}
        given = check_timers(flow, timers)
        return cls(flow, limited, given, {**session, **check_timers(life, own)})

    def turn(self, options: Mapping[str, Any], resumes_after: float | None) -> dict[str, float]:
        """The seconds that override those of the flow.

        Args:
            options: The keyword arguments of the session. Without a timeout for false interruptions
                in them, the flow's own applies.
            resumes_after: LiveKit's `false_interruption_timeout`.
        """
        resumption = self.of_resumption(resumes_after) if gives_timeout(options) else {}
        return {**self.limits, **resumption, **self.given}

    def of_resumption(self, resumes_after: float | None) -> dict[str, float]:
        """The seconds for a `false_interruption_timeout` that the application has given. None:
        speech is neither paused nor resumed."""
        timers = {**self.flow.timers, **self.limits}
        if "false_interruption" not in timers or resumes_after is None:
            return {}
        seconds = {"false_interruption": min(max(float(resumes_after), _AT_ONCE), _LONGEST)}
        for name in ("noise_limit", "pause_limit"):  # these end a pause that nothing else ends
            limit = timers.get(name)
            if limit is not None and limit <= resumes_after:
                seconds[name] = seconds["false_interruption"] + limit
        return seconds
