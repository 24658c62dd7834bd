"""Watches the progress of the step that holds the floor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

__all__ = ["Progress"]


class Progress:
    """Checks a step at intervals, and reports progress since the last check.

    Progress is a token of the model, or audio that is not played yet.

    Args:
        report: Called after a check that has found progress.
        timers: Those of the session, in seconds. The time between two checks is a tenth of the
            shorter limit, so that a stuck step is noticed soon, and at most half of
            `report_after`.
    """

    def __init__(self, report: Callable[[], object], timers: Mapping[str, float]) -> None:
        limits = [timers[name] for name in ("thinking_limit", "speaking_limit") if name in timers]
        self._report = report
        self._every = min([*(limit / 10 for limit in limits), timers.get("report_after", 60.0) / 2])
        self._progressed = False
        self._last = 0.0  # the time of the last progress
        self._checked_at = 0.0  # the time of the last check
        self._due = 0.0  # the time of the next check; the loop may run it slightly early
        self._heard_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A step has been given the floor."""
        self.end()
        self._progressed, self._heard_until = False, 0.0
        self._last = self._checked_at = asyncio.get_running_loop().time()
        self._check_after(self._checked_at)

    def end(self) -> None:
        """No step holds the floor."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tokens_received(self) -> None:
        """The model has produced something."""
        self._progressed = True
        self._last = asyncio.get_running_loop().time()

    def audio_came(self, seconds: float) -> None:
        """The output has received audio. It plays after earlier audio."""
        self._heard_until = max(self._heard_until, asyncio.get_running_loop().time()) + seconds

    @property
    def idle(self) -> float:
        """Seconds since the step's last progress, or since it took the floor."""
        return max(0.0, asyncio.get_running_loop().time() - max(self._last, self._heard_until))

    @property
    def has_audio(self) -> bool:
        """The output has received audio of the step."""
        return self._heard_until > 0.0

    def _check_after(self, now: float) -> None:
        self._due = now + self._every
        if now < self._heard_until < self._due:
            self._due = self._heard_until  # progress is then counted from the end of the audio
        self._timer = asyncio.get_running_loop().call_at(self._due, self._check)

    def _check(self) -> None:
        now = max(self._due, asyncio.get_running_loop().time())
        progressed = self._progressed or self._heard_until > self._checked_at
        self._progressed, self._checked_at = False, now
        self._check_after(now)
        if progressed:
            self._report()
