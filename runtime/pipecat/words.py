"""Holds back TTS-timed words while their audio is held back, since Pipecat's clock does not
pause."""

from __future__ import annotations

import asyncio
import contextlib

import attrs
from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from .output import Tap

__all__ = ["WordGate"]

NANOSECONDS = 1e9
SOON = 0.001
"""Waits below this many seconds are skipped: the two clocks differ by rounding."""


@attrs.frozen
class _Timed:
    """A frame with a time.

    Attributes:
        at: Its time in seconds of Pipecat's clock.
        waited: For how long audio had been held back when the frame arrived.
    """

    frame: f.Frame
    at: float
    waited: float


class WordGate(FrameProcessor):
    """Before the output: passes a timed frame on when its audio plays.

    Otherwise Pipecat would add unheard words to the context if an interruption follows a pause.
    """

    def __init__(self, tap: Tap) -> None:
        super().__init__(name="turnfsm.words")
        self._tap = tap
        self._timed: list[_Timed] = []
        self._changed = asyncio.Event()
        self._passing_on: asyncio.Task[None] | None = None

    async def cleanup(self) -> None:
        await super().cleanup()
        if self._passing_on is not None:
            await self.cancel_task(self._passing_on)

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if direction is not FrameDirection.DOWNSTREAM:
            await self.push_frame(frame, direction)
        elif _waits(frame):
            self._timed.append(_Timed(frame, frame.pts / NANOSECONDS, self._tap.waited))
            self._timed.sort(key=lambda timed: timed.at)
            self._changed.set()
            if self._passing_on is None or self._passing_on.done():
                self._passing_on = self.create_task(self._pass_on())
        else:
            if isinstance(frame, f.InterruptionFrame):
                self._timed = [timed for timed in self._timed if not timed.frame.interruptible]
            elif isinstance(frame, f.EndFrame):
                while self._timed:  # the output waits for their time
                    await self.push_frame(self._timed.pop(0).frame)
            await self.push_frame(frame, direction)

    async def _pass_on(self) -> None:
        while self._timed:
            first = self._timed[0]
            late = self._tap.waited - first.waited
            remaining = first.at + late - self.get_clock().get_time() / NANOSECONDS
            if self._tap.closed:
                await self._tap.opened()
            elif remaining > SOON:  # an earlier one may come, after an interruption
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), remaining)
            else:
                del self._timed[0]
                await self.push_frame(first.frame)


def _waits(frame: f.Frame) -> bool:
    return bool(frame.pts) and not isinstance(
        frame, f.SystemFrame | f.OutputAudioRawFrame | f.TTSStoppedFrame
    )
