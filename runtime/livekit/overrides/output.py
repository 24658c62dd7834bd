"""The audio output of a step: observed, paused and cleared as the flow decides."""

from __future__ import annotations

from typing import Any

import attrs
from livekit.agents.voice.io import AudioOutput

from .queued import keep_queued

__all__ = ["StepOutput"]


@attrs.frozen
class StepOutput:
    """The audio output of an agent's step.

    Attributes:
        agent: Its activity.
        audio: The audio output.
    """

    agent: Any
    audio: AudioOutput

    def __attrs_post_init__(self) -> None:
        keep_queued(self.audio)

    @property
    def can_pause(self) -> bool:
        """It can pause, and the session resumes after false interruptions."""
        return self.audio.can_pause and self.agent.resumes

    def pause(self, *, heard: bool) -> None:
        """Pause. If it was playing, turn detection is told that the agent is silent."""
        self.audio.pause()
        if heard:
            self.agent.fallen_silent()

    def resume(self, *, heard: bool) -> None:
        """Resume. If it was playing, turn detection is told that the agent speaks again."""
        if heard:
            self.agent.heard_again()
        self.audio.resume()

    def end_playout(self, played: float) -> None:
        """Report the end of playout for an output that does not report it.

        Args:
            played: Seconds that may have been heard.
        """
        sink: AudioOutput | None = self.audio
        while sink is not None and sink.next_in_chain is not None:
            sink = sink.next_in_chain
        while sink is not None and _pending(sink):
            sink.on_playback_finished(playback_position=played, interrupted=True)

    def drop(self) -> None:
        """Clear the audio that was not played."""
        if _pending(self.audio):
            self.audio.flush()  # an output only reports the end of a complete segment
            self.audio.clear_buffer()


def _pending(audio: AudioOutput) -> int:
    return getattr(audio, "_pending_playback_count", 0)
