"""Watches whether the step that holds the floor makes progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Progress"]


class Progress:
    """Looks at a step at intervals, and reports if it has made progress since the last look.

    Progress is a token of the model, or audio that is still to be heard.

    Args:
        report: Called with the step's id.
        every: Seconds between two looks.
    """

    def __init__(self, report: Callable[[str], object], every: float) -> None:
        self._report, self._every = report, every
        self._step: str | None = None
        self._came = False
        self._last = 0.0  # when something came
        self._looked = 0.0  # when the last look was
        self._due = 0.0  # when the next is; the loop may run it within its resolution before
        self._heard_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, step: str) -> None:
        """A step has been given the floor."""
        self.end()
        self._step, self._came, self._heard_until = step, False, 0.0
        self._last = self._looked = asyncio.get_running_loop().time()
        self._look_after(self._looked)

    def end(self) -> None:
        """No step holds the floor."""
        self._step = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tokens_came(self) -> None:
        """The model has produced something."""
        self._came = True
        self._last = asyncio.get_running_loop().time()

    def audio_came(self, seconds: float) -> None:
        """The output has taken audio. It is played after what the output has taken before."""
        self._heard_until = max(self._heard_until, asyncio.get_running_loop().time()) + seconds

    @property
    def idle(self) -> float:
        """Seconds since the last progress of the step, or since it was given the floor."""
        return max(0.0, asyncio.get_running_loop().time() - max(self._last, self._heard_until))

    @property
    def has_audio(self) -> bool:
        """The output has taken audio of the step."""
        return self._heard_until > 0.0

    def _look_after(self, now: float) -> None:
        self._due = now + self._every
        if now < self._heard_until < self._due:
            self._due = self._heard_until  # what comes after the audio is counted from its end
        self._timer = asyncio.get_running_loop().call_at(self._due, self._look)

    def _look(self) -> None:
        now = max(self._due, asyncio.get_running_loop().time())
        goes_on = self._came or self._heard_until > self._looked
        self._came, self._looked = False, now
        self._look_after(now)
        if goes_on and self._step is not None:
            self._report(self._step)
