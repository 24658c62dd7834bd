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
        self._heard_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, step: str) -> None:
        """A step has been given the floor."""
        self.end()
        self._step, self._came, self._heard_until = step, False, 0.0
        self._last = self._looked = asyncio.get_running_loop().time()
        self._look_later()

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

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        when = loop.time() + self._every
        if loop.time() < self._heard_until < when:
            when = self._heard_until  # what comes after the audio is counted from its end
        self._timer = loop.call_at(when, self._look)

    def _look(self) -> None:
        self._look_later()
        goes_on = self._came or self._heard_until > self._looked
        self._came, self._looked = False, asyncio.get_running_loop().time()
        if goes_on and self._step is not None:
            self._report(self._step)
