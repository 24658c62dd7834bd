"""A run that ends when no handoff is running."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livekit.agents.voice import SpeechHandle
from livekit.agents.voice.run_result import RunResult

from .speech import printed_as

__all__ = ["GovernedRun"]


class GovernedRun(RunResult[Any]):
    """A run that stays open while an agent hands over.

    LiveKit ends a run when everything that it watches is done. Between two agents it watches
    nothing for a moment. So the flow decides when the run ends.
    """

    _progressed: Callable[[], None]
    _may_end = _idle = _speech_interrupted = False

    @classmethod
    def adopt(cls, result: RunResult[Any], progressed: Callable[[], None]) -> GovernedRun:
        """Turn a run that LiveKit has begun into a governed one."""
        result.__class__ = cls
        assert isinstance(result, cls)
        result._progressed = progressed
        return result

    def __repr__(self) -> str:
        return printed_as(RunResult, self)

    @property
    def waits_for_rest_only(self) -> bool:
        """Everything that the run watches is done."""
        self._idle = False
        super()._mark_done_if_needed(None)  # calls `_mark_done` if so
        return self._idle

    @property
    def whole(self) -> bool:
        """No speech of the run was interrupted, and each of its calls has an output."""
        count = [event.type for event in self.events].count
        paired = count("function_call") == count("function_call_output")
        return paired and not self._speech_interrupted

    def when_done(self, call: Callable[[GovernedRun], object]) -> None:
        """Call a function once the run has its result."""
        self._done_fut.add_done_callback(lambda _: call(self))

    def end(self) -> None:
        """Let the run end as soon as everything that it watches is done."""
        self._may_end = True
        super()._mark_done_if_needed(None)

    def end_now(self) -> None:
        """End the run with what it has so far."""
        if not self._done_fut.done():
            self._done_fut.set_result(None)

    def fail(self, error: BaseException) -> None:
        """End the run with an error."""
        if not self._done_fut.done():
            self._done_fut.set_exception(error)

    def _mark_done_if_needed(self, handle: Any) -> None:
        self._speech_interrupted |= isinstance(handle, SpeechHandle) and handle.interrupted
        super()._mark_done_if_needed(handle)
        self._progressed()

    def _mark_done(self) -> None:
        self._idle = True
        if self._may_end:
            super()._mark_done()
