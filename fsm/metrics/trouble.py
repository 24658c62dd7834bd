"""Tracks components that have failed and have not recovered."""

from __future__ import annotations

from turnfsm.fsm.journal import ComponentFailed

from .values import Cause

__all__ = ["Trouble"]

_CAUSES: dict[str, Cause] = {
    "stt": "stt",
    "llm": "llm",
    "realtime": "llm",
    "tts": "tts",
    "vad": "vad",
}


class Trouble:
    """Stores the failures of each component until it works again.

    Attributes:
        lost: The component that failed for good, so that nothing follows; None if there is none.
    """

    def __init__(self) -> None:
        self._failed: dict[Cause, tuple[int, float, ComponentFailed]] = {}
        self.lost: tuple[Cause, str] | None = None

    def failed(self, now: float, failure: ComponentFailed) -> None:
        """A component has failed."""
        cause = _CAUSES[failure.part]
        count = self._failed[cause][0] if cause in self._failed else 0
        self._failed[cause] = count + 1, now, failure
        if not failure.recoverable and cause in ("llm", "tts"):
            self.lost = cause, f"{failure} at {now:.2f} s and was given up: the reply was lost"
        elif cause == "vad":
            self.lost = cause, f"{failure} at {now:.2f} s: speech is no longer detected"

    def works(self, *causes: Cause) -> None:
        """These components work again."""
        for cause in causes:
            self._failed.pop(cause, None)

    def asked_again(self) -> None:
        """A reply was requested: the lost one is not pending any more."""
        self.lost = None

    def of(self, cause: Cause) -> str:
        """The failures of a component, as the end of a sentence; empty if there are none."""
        if cause not in self._failed:
            return ""
        count, at, failure = self._failed[cause]
        times = f", {count} times, last at" if count > 1 else " at"
        return f"; {failure}{times} {at:.2f} s"
