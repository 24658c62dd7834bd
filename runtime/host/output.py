"""An output that can be paused."""

from __future__ import annotations

import asyncio

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.floor import Step

__all__ = ["PausableOutput"]


class PausableOutput:
    """An `Output`. Call `passes` before each piece is played: a frame of audio, or a line of text.

    Example::

        if await output.passes(conductor, step, seconds=0.02):
            play(frame)
    """

    can_pause = True

    def __init__(self) -> None:
        self._open, self._dropped = asyncio.Event(), 0
        self._open.set()

    @property
    def closed(self) -> bool:
        """Pieces are held back."""
        return not self._open.is_set()

    async def opened(self) -> None:
        """Wait until pieces may pass."""
        while self.closed:  # it may be paused again before this task runs
            await self._open.wait()

    async def passes(self, conductor: Conductor | None, step: Step | None, seconds: float) -> bool:
        """Wait until a piece may be played.

        Args:
            conductor: Gets the reports; None if no flow governs the output any more.
            step: The step that the piece belongs to.
            seconds: How long the piece takes.

        Returns:
            Whether to play it: not if it was dropped or interrupted in the meantime.
        """
        dropped = self._dropped
        if conductor is not None and step is not None:
            if not step.gate.passed:
                conductor.speech.start_playout(step.speech)
            held = conductor.floor.frame_received(step.speech, seconds)
            if held is not None:
                await held
        await self.opened()
        return self._dropped == dropped and not (step is not None and step.speech.interrupted)

    # -- the port

    def pause(self, *, heard: bool) -> None:
        """Hold back the next piece."""
        self._open.clear()

    def resume(self, *, heard: bool) -> None:
        """Pass the piece on."""
        self._open.set()

    def drop(self) -> None:
        """Drop the piece that is held back: its step is over."""
        self._dropped += 1
        self.resume(heard=False)
