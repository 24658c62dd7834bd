"""A run that ends when no handoff is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit.agents.voice import SpeechHandle
from livekit.agents.voice.run_result import RunResult

from .speech import printed_as

__all__ = ["GovernedRun"]


class GovernedRun(RunResult[Any]):
    """A run that stays open while an agent hands over.

    LiveKit ends a run when everything that it watches is done. Between two agents it watches
    nothing for a moment. An additional guard keeps it open.
    """

    _moved: Callable[[], None]
    _guard: asyncio.Future[None]

    @classmethod
    def adopt(cls, result: RunResult[Any], moved: Callable[[], None]) -> GovernedRun:
        """Turn a run that LiveKit has begun into a governed one."""
        result.__class__ = cls
        assert isinstance(result, cls)
        result._moved = moved
        result._guard = asyncio.get_running_loop().create_future()
        result._watch_handle(result._guard)
        return result

    def __repr__(self) -> str:
        return printed_as(RunResult, self)

    @property
    def waits_for_rest_only(self) -> bool:
        """Everything that the run watches is done."""
        return all(handle.done() for handle in self._handles if handle is not self._guard)

    @property
    def whole(self) -> bool:
        """No speech of the run was interrupted, and each of its calls has an output."""
        cut = any(isinstance(one, SpeechHandle) and one.interrupted for one in self._handles)
        kinds = [event.type for event in self.events]
        return not cut and kinds.count("function_call") == kinds.count("function_call_output")

    def when_done(self, call: Callable[[GovernedRun], object]) -> None:
        """Call a function once the run has its result."""
        self._done_fut.add_done_callback(lambda _: call(self))

    def end(self) -> None:
        """Let the run end as soon as what it watches is done."""
        if not self._guard.done():
            self._guard.set_result(None)

    def fail(self, error: BaseException) -> None:
        """End the run with an error."""
        if not self._done_fut.done():
            self._done_fut.set_exception(error)

    def _mark_done_if_needed(self, handle: Any) -> None:
        super()._mark_done_if_needed(handle)
        if handle is not self._guard:
            self._moved()
