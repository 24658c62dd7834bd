"""An activity's audio output: watched, paused and cleared as the flow decides."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.io import AudioOutput, PlaybackFinishedEvent, PlaybackStartedEvent

from .progress import count_audio

__all__ = ["OutputActivity"]


class OutputActivity(AgentActivity):
    """What the conversation needs from an audio output."""

    _paused: AudioOutput | None = None

    @property
    def _audio_output(self) -> AudioOutput | None:
        output = self._session.output
        return output.audio if output.audio_enabled else None

    @property
    def audible(self) -> bool:
        """Audio is enabled."""
        return self._audio_output is not None

    def listen(
        self,
        started: Callable[[float], None],
        finished: Callable[[], None],
        came: Callable[[float], Awaitable[None]],
    ) -> Callable[[], None]:
        """Call functions when playout starts, when it finishes, and with the seconds of each frame,
        which the output gets when that returns.

        Returns a function that removes them.
        """
        output = self._audio_output
        if output is None:
            return _nothing

        def on_started(ev: PlaybackStartedEvent) -> None:
            started(ev.created_at)

        def on_finished(_: PlaybackFinishedEvent) -> None:
            finished()

        stop_counting = count_audio(output, came)

        def stop() -> None:
            stop_counting()
            output.off("playback_started", on_started)
            output.off("playback_finished", on_finished)

        output.on("playback_started", on_started)
        output.on("playback_finished", on_finished)
        return stop

    def pause_audio(self, *, heard: bool) -> None:
        """Pause. If it was heard, turn detection is told that the agent is silent."""
        if (output := self._audio_output) is not None:
            output.pause()
            self._paused = output
        if heard:
            self._on_end_of_agent_speech(ended_at=time.time())
            if self.interruption_enabled:
                self.interruption_by_audio_activity_enabled = True

    def resume_audio(self, *, heard: bool) -> None:
        """Resume, also an output that the application has disabled or replaced since. If it was
        heard, turn detection is told that the agent is heard again."""
        if heard:
            if self._audio_recognition is not None:
                self._audio_recognition._on_start_of_agent_speech(started_at=time.time())
            if self.interruption_enabled:
                self._disable_vad_interruption_soon()
        paused, self._paused, output = self._paused, None, self._audio_output
        if paused is not None:
            paused.resume()
        if output is not None and output is not paused:
            output.resume()

    def end_playout(self, played: float) -> None:
        """Report the end of playout for an output that does not report it.

        Args:
            played: Seconds that may have been heard.
        """
        sink = self._audio_output
        while sink is not None and sink.next_in_chain is not None:
            sink = sink.next_in_chain
        while sink is not None and sink._pending_playback_count:
            sink.on_playback_finished(playback_position=played, interrupted=True)

    def drop_audio(self) -> None:
        """Clear the audio that was taken and not played."""
        sink = self._paused or self._audio_output
        if sink is not None and sink._pending_playback_count:
            sink.flush()  # an output reports the end only of a complete segment
            sink.clear_buffer()


def _nothing() -> None:
    """Do nothing."""
